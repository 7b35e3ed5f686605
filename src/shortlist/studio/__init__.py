"""`shortlist studio`: a page on this machine alone, from a table to a private list, a receipt and the code.

`server` lets requests in or refuses them, `folder` finds files without reading them, `question` checks what was asked
and plans it from public facts, `work` releases it after a confirmation, and `page` is what the analyst sees.
"""
