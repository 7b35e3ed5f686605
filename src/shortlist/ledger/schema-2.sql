-- Schema 2, made of schema 1: a request states what it would cost, in the columns of a charge, and adds nothing to the sums.
-- Requests that are there state nothing, so they cover nothing: whoever asked asks again. Rights and rows stay as they are.

-- Book a charge if it fits: the entry and the hash before it. One row without a number: it does not fit. In a ledger with
-- approval the entry that waits for it, an old one or a new one, comes back instead; it states what it asks for, and an
-- approval pays for no more than that.
CREATE OR REPLACE FUNCTION shortlist.charge(
    its_name text, its_token text, guarantee text, mechanism text, purpose text, unit text, refundable text,
    source text, version text, epsilon text, curve text, delta text,
    OUT entry shortlist.entries, OUT previous text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l shortlist.ledgers := shortlist.held(its_name);
    b shortlist.entries := shortlist.ending(l);
    e shortlist.entries;
    asked shortlist.entries;
    asked_curve text;
    all_of_delta boolean;
    most_delta text := l.limit_delta;
BEGIN
    PERFORM shortlist.check_token(l, its_token);
    e.ledger := l.id;
    e.guarantee := shortlist.written(guarantee, 1000000);
    e.mechanism := shortlist.written(mechanism, 1000000);
    e.purpose := shortlist.written(purpose, 10000);
    e.unit := shortlist.written(unit, 1000);
    e.version := shortlist.written(version, 1000);
    e.source := shortlist.written(source, 10000);
    e.refundable := refundable;
    IF refundable IS NULL OR refundable NOT IN ('""', '"pure"', '"zcdp"', '"pure zcdp"') THEN
        RAISE EXCEPTION 'this is no list of currencies' USING ERRCODE = 'SL002';
    END IF;
    IF l.limit_epsilon IS NOT NULL THEN e.epsilon := shortlist.offered(epsilon); END IF;
    IF l.limit_curve IS NOT NULL THEN e.curve := shortlist.offered(curve); END IF;
    e.delta := shortlist.offered(coalesce(delta, 'none'));
    asked_curve := e.curve;
    -- The first charge may have all of delta; then rule (b) is closed for good (Theorem 217).
    all_of_delta := l.whole_delta IS NOT NULL AND l.limit_delta <> '0' AND (
        NOT shortlist.at_most(b.total_delta, l.limit_delta)
        OR (b.charges = 0 AND NOT shortlist.at_most(e.delta, l.limit_delta)));
    IF all_of_delta THEN
        e.curve := NULL;
        most_delta := l.whole_delta;
    END IF;
    e.total_epsilon := shortlist.plus(b.total_epsilon, e.epsilon, 1);
    e.total_curve := CASE WHEN all_of_delta THEN NULL ELSE shortlist.plus(b.total_curve, e.curve, 1) END;
    e.total_delta := shortlist.plus(b.total_delta, e.delta, 1);
    IF b.kind NOT IN ('close', 'moved') AND NOT (shortlist.at_most(e.total_delta, most_delta) AND (
        coalesce(shortlist.at_most(e.total_epsilon, l.limit_epsilon), false)
        OR coalesce(shortlist.at_most(e.total_curve, l.limit_curve), false)))
    THEN
        RETURN;
    END IF;
    e.kind := 'charge';
    IF l.approval THEN
        SELECT * INTO asked FROM shortlist.entries r
            WHERE r.ledger = l.id AND r.kind = 'request' AND r.who = shortlist.json_of(session_user::text)
                AND (r.guarantee, r.mechanism, r.purpose, r.unit, r.refundable, r.source)
                    = (e.guarantee, e.mechanism, e.purpose, e.unit, e.refundable, e.source)
                AND (r.epsilon IS NULL OR coalesce(shortlist.at_most(e.epsilon, r.epsilon), false))
                AND (r.curve IS NULL OR coalesce(shortlist.at_most(asked_curve, r.curve), false))
                AND shortlist.at_most(e.delta, r.delta)
                AND NOT EXISTS (SELECT FROM shortlist.entries c
                    WHERE c.ledger = l.id AND c.request = r.number AND c.kind = 'charge')
            ORDER BY EXISTS (SELECT FROM shortlist.entries a
                WHERE a.ledger = l.id AND a.request = r.number AND a.kind = 'approval') DESC, r.number DESC LIMIT 1;
        IF asked.number IS NULL THEN
            e.kind := 'request';
            e.curve := asked_curve;
            e.total_epsilon := b.total_epsilon; e.total_curve := b.total_curve; e.total_delta := b.total_delta;
        ELSIF NOT EXISTS (SELECT FROM shortlist.entries a
            WHERE a.ledger = l.id AND a.request = asked.number AND a.kind = 'approval')
        THEN
            entry := asked;
            RETURN;
        ELSE
            e.request := asked.number;
        END IF;
    END IF;
    entry := shortlist.booked(b, e, its_token);
    previous := b.hash;
END $$;

-- Approve what another role asked for.
CREATE OR REPLACE FUNCTION shortlist.approve(
    its_name text, its_token text, its_number bigint, version text, OUT entry shortlist.entries, OUT previous text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l shortlist.ledgers := shortlist.held(its_name);
    b shortlist.entries := shortlist.ending(l);
    e shortlist.entries;
BEGIN
    PERFORM shortlist.check_token(l, its_token);
    SELECT * INTO e FROM shortlist.entries r WHERE r.ledger = l.id AND r.number = its_number AND r.kind = 'request';
    IF e.number IS NULL THEN
        RAISE EXCEPTION 'this is no request' USING ERRCODE = 'SL008';
    END IF;
    IF EXISTS (SELECT FROM shortlist.entries a
        WHERE a.ledger = l.id AND a.request = its_number AND a.kind = 'approval')
    THEN
        RAISE EXCEPTION 'it was approved already' USING ERRCODE = 'SL009';
    END IF;
    IF e.who = shortlist.json_of(session_user::text) THEN
        RAISE EXCEPTION 'it must be approved by another role' USING ERRCODE = 'SL010';
    END IF;
    e.kind := 'approval';
    e.request := e.number;
    e.refundable := '""';
    e.version := shortlist.written(version, 1000);
    e.epsilon := '0'; e.curve := '0'; e.delta := '0';
    e.total_epsilon := b.total_epsilon; e.total_curve := b.total_curve; e.total_delta := b.total_delta;
    entry := shortlist.booked(b, e, its_token);
    previous := b.hash;
END $$;

UPDATE shortlist.about SET version = 2;
