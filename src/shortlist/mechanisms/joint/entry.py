"""The entry of joint top-k: a list in one round, which `top_k` takes only by name."""

from __future__ import annotations

from shortlist.mechanisms.entry import Audited, Compared, Entry, Fact, Method
from shortlist.mechanisms.joint.mechanism import JointTopK
from shortlist.mechanisms.plan_rows import listed

ENTRY = Entry(
    kind=JointTopK,
    page="joint.md",
    summary="the exponential mechanism over ordered sequences",
    gives="k items in order",
    budgets="pure, zCDP, (ε, δ)",
    methods=(
        Method(
            "joint",
            lambda request: JointTopK(k=request.size, budget=request.budget),
            fact=Fact("its loss is never better than canonical's", "docs/mechanisms/joint.md"),
        ),
    ),
    compared=(Compared("joint", lambda k, epsilon: JointTopK(k=k, epsilon=epsilon)),),
    planned=lambda k: (listed("joint", "joint", lambda p: JointTopK(k=k, epsilon=p), ordered=True),),
    audited=Audited(law="shortlist.mechanisms.joint.certified:law", one_by_one=True),
)
