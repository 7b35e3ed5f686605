-- Schema 3, made of schema 2: whoever asks what a token became waits for nobody but that token's own charge.

-- What a token became. If nothing, it stays so: whatever comes under this token afterwards is refused. The ledger is not held:
-- of two that write the same token one comes second, and sees or fails on what the first has written. So an interrupt is
-- answered at once while others hold the ledger, and a charge that still waits for it will not be booked.
CREATE OR REPLACE FUNCTION shortlist.find(its_name text, its_token text) RETURNS SETOF shortlist.entries
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l shortlist.ledgers := shortlist.opened(its_name);
BEGIN
    IF current_setting('synchronous_commit') IN ('off', 'local') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    INSERT INTO shortlist.tokens VALUES (l.id, its_token, NULL) ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT e.* FROM shortlist.tokens t JOIN shortlist.entries e USING (ledger, number)
        WHERE t.ledger = l.id AND t.token = its_token;
END $$;

UPDATE shortlist.about SET version = 3;
