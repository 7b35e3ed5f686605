-- Schema 4, made of schema 3: rights follow a role and not its name alone, one neighboring relation is kept to, texts have
-- the length that docs/ledger.md states, a refund gives something back, and long entries are not read without need.

-- A role is known by its name and its oid. A role that was made anew under an old name has another oid. A database that was
-- restored elsewhere has other oids, which may be those of other roles there; those have other names.
ALTER TABLE shortlist.analysts ADD role_id oid;
UPDATE shortlist.analysts a SET role_id = r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = a.role;

-- Entries that are there have no role: nothing of them is refunded, and requests are asked again.
ALTER TABLE shortlist.entries ADD who_id oid;

CREATE FUNCTION shortlist.caller() RETURNS oid LANGUAGE sql STABLE AS $$
    SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname = session_user
$$;

-- The ledger of that name, for whoever is its owner or was let in. It is not said which of the two is wrong.
CREATE OR REPLACE FUNCTION shortlist.opened(its_name text) RETURNS shortlist.ledgers LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_one shortlist.ledgers;
BEGIN
    SELECT * INTO found_one FROM shortlist.ledgers l WHERE l.name = its_name;
    IF found_one.id IS NULL OR NOT (pg_has_role(session_user, current_user, 'member') OR EXISTS (
        SELECT FROM shortlist.analysts a JOIN pg_roles r ON r.rolname = a.role AND r.oid = a.role_id
        WHERE a.ledger = found_one.id AND pg_has_role(session_user, r.oid, 'member')))
    THEN
        RAISE EXCEPTION 'there is no such ledger for you' USING ERRCODE = 'SL001';
    END IF;
    RETURN found_one;
END $$;

-- The neighboring relation that a unit states at its end, or NULL; the texts are those of `STATED` in chain.py.
CREATE FUNCTION shortlist.relation_of(unit text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT CASE
        WHEN right(unit, 13) = '(add-remove)"' THEN 'add-remove'
        WHEN right(unit, 10) = '(replace)"' OR right(unit, 31) = '(replaces one teacher''s votes)"' THEN 'replace'
    END
$$;

-- The first charge of a ledger that states a neighboring relation. Later charges that state one state the same, unless the
-- ledger was made to add up both.
CREATE TABLE shortlist.neighbors (
    ledger integer PRIMARY KEY REFERENCES shortlist.ledgers,
    number bigint NOT NULL,
    relation text COLLATE "C" NOT NULL CHECK (relation IN ('add-remove', 'replace'))
);
CREATE TRIGGER stays BEFORE UPDATE OR DELETE OR TRUNCATE ON shortlist.neighbors EXECUTE FUNCTION shortlist.refuse();
INSERT INTO shortlist.neighbors
    SELECT DISTINCT ON (e.ledger) e.ledger, e.number, shortlist.relation_of(e.unit) FROM shortlist.entries e
    WHERE e.kind = 'charge' AND shortlist.relation_of(e.unit) IS NOT NULL ORDER BY e.ledger, e.number;
ALTER TABLE shortlist.ledgers ADD mixed boolean NOT NULL DEFAULT false;

-- A text as the JSON string that Python writes of it, in ASCII: one way to write each, and at most so many characters.
CREATE OR REPLACE FUNCTION shortlist.written(words text, longest integer) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF words IS NULL OR length(words) > 12 * longest + 2 OR words COLLATE "C" !~ ('^"([ !#-\[\]-~]|\\["\\bfnrt]'
        || '|\\u(00(0[0-7bef]|1[0-9a-f]|7f|[89a-f][0-9a-f])|0[1-9a-f][0-9a-f]{2}|[1-9abcef][0-9a-f]{3}|d[0-7][0-9a-f]{2})'
        || '|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})*"$')
    THEN
        RAISE EXCEPTION 'this is no text' USING ERRCODE = 'SL002';
    END IF;
    IF length(words) > longest + 2 AND longest < length(regexp_replace(
        words, '\\ud[89ab][0-9a-f]{2}\\u[0-9a-f]{4}|\\u[0-9a-f]{4}|\\["\\bfnrt]', '.', 'g')) - 2
    THEN
        RAISE EXCEPTION 'this text is too long' USING ERRCODE = 'SL002';
    END IF;
    RETURN words;
END $$;

-- Book `e` after `b`: its number, who books it, when, and its hash are the server's.
CREATE OR REPLACE FUNCTION shortlist.booked(b shortlist.entries, e shortlist.entries, its_token text) RETURNS shortlist.entries
LANGUAGE plpgsql AS $$
BEGIN
    IF b.kind IN ('close', 'moved') THEN
        RAISE EXCEPTION 'the ledger was closed' USING ERRCODE = 'SL003';
    END IF;
    e.number := b.number + 1;
    e.time := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"');
    e.who := shortlist.json_of(session_user::text);
    e.who_id := shortlist.caller();
    e.charges := b.charges + CASE e.kind WHEN 'charge' THEN 1 ELSE 0 END;
    e.hash := shortlist.chained(b.hash, e);
    INSERT INTO shortlist.entries SELECT e.*;
    INSERT INTO shortlist.tokens VALUES (e.ledger, its_token, e.number);
    RETURN e;
END $$;

-- Which ledger this is, and whether its server keeps what it acknowledges. The first column stays the first for ever.
DROP FUNCTION shortlist.look(text, bigint);
CREATE FUNCTION shortlist.look(its_name text, seen bigint) RETURNS TABLE (
    version integer, id integer, content text, origin text, limits text[], approval boolean, seen_hash text,
    synced boolean, mixed boolean, neighbors text
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l shortlist.ledgers := shortlist.opened(its_name);
BEGIN
    RETURN QUERY SELECT (SELECT max(a.version) FROM shortlist.about a), l.id, l.content, l.origin,
        ARRAY[l.limit_epsilon, l.limit_curve, l.limit_delta, l.whole_delta], l.approval,
        (SELECT e.hash FROM shortlist.entries e WHERE e.ledger = l.id AND e.number = seen),
        current_setting('fsync')::boolean, l.mixed,
        (SELECT n.relation FROM shortlist.neighbors n WHERE n.ledger = l.id);
END $$;
DO $$
DECLARE
    analyst text;
BEGIN
    FOR analyst IN SELECT DISTINCT a.role FROM shortlist.analysts a WHERE a.role_id IS NOT NULL LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION shortlist.look(text, bigint) TO %I', analyst);
    END LOOP;
END $$;

-- How much is to be read of an entry's texts.
CREATE FUNCTION shortlist.size_of(e shortlist.entries) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT octet_length(e.mechanism)::bigint + octet_length(e.guarantee) + octet_length(e.purpose) + octet_length(e.unit)
        + coalesce(octet_length(e.source), 0)
$$;

-- The entries from one number to another: as many of the first of them as are read at once, and one at least.
CREATE OR REPLACE FUNCTION shortlist.rows_between(its_name text, first_one bigint, last_one bigint)
RETURNS SETOF shortlist.entries
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l shortlist.ledgers := shortlist.opened(its_name);
    e shortlist.entries;
    size bigint := 0;
BEGIN
    FOR e IN SELECT * FROM shortlist.entries x
        WHERE x.ledger = l.id AND x.number BETWEEN first_one AND last_one ORDER BY x.number
    LOOP
        size := size + shortlist.size_of(e);
        EXIT WHEN size > 32000000 AND e.number > first_one;
        RETURN NEXT e;
    END LOOP;
END $$;

-- The last two entries, and what the last one refunds; and the first one, where it is short.
CREATE OR REPLACE FUNCTION shortlist.ends(its_name text) RETURNS SETOF shortlist.entries
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l shortlist.ledgers := shortlist.opened(its_name);
BEGIN
    RETURN QUERY
        WITH b AS (SELECT x.number, x.refund_of FROM shortlist.entries x WHERE x.ledger = l.id ORDER BY x.number DESC LIMIT 1)
        SELECT e.* FROM shortlist.entries e, b
        WHERE e.ledger = l.id AND (e.number IN (b.number - 1, b.number, b.refund_of)
            OR (e.number = 1 AND shortlist.size_of(e) <= 100000))
        ORDER BY e.number;
END $$;

-- Book a charge if it fits: the entry and the hash before it. One row without a number: it does not fit. In a ledger with
-- approval the entry that waits for it, an old one or a new one, comes back instead; it states what it asks for, and an
-- approval pays for no more than that. The first charge that states a neighboring relation fixes it.
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
    stated text;
    kept text := (SELECT n.relation FROM shortlist.neighbors n WHERE n.ledger = l.id);
    all_of_delta boolean;
    most_delta text := l.limit_delta;
BEGIN
    PERFORM shortlist.check_token(l, its_token);
    e.ledger := l.id;
    e.guarantee := shortlist.written(guarantee, 1000000);
    e.mechanism := shortlist.written(mechanism, 1000000);
    e.purpose := shortlist.written(purpose, 10000);
    e.unit := shortlist.written(unit, 1000);
    stated := shortlist.relation_of(e.unit);
    IF stated <> kept AND NOT l.mixed THEN
        RAISE EXCEPTION 'the ledger is kept to another neighboring relation' USING ERRCODE = 'SL011';
    END IF;
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
                AND r.who_id = shortlist.caller()
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
    IF entry.kind = 'charge' AND kept IS NULL AND stated IS NOT NULL THEN
        INSERT INTO shortlist.neighbors VALUES (l.id, entry.number, stated);
    END IF;
    previous := b.hash;
END $$;

-- Give back part of a charge, once, to whoever made it, in the currencies that it named; never a delta, and not nothing.
CREATE OR REPLACE FUNCTION shortlist.refund(
    its_name text, its_token text, its_number bigint, its_hash text, guarantee text, version text, epsilon text,
    curve text, OUT entry shortlist.entries, OUT previous text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l shortlist.ledgers := shortlist.held(its_name);
    b shortlist.entries := shortlist.ending(l);
    e shortlist.entries;
    c shortlist.entries;
BEGIN
    PERFORM shortlist.check_token(l, its_token);
    SELECT * INTO c FROM shortlist.entries x
        WHERE x.ledger = l.id AND x.number = its_number AND x.hash = its_hash AND x.kind = 'charge'
            AND x.who = shortlist.json_of(session_user::text) AND x.who_id = shortlist.caller();
    IF c.number IS NULL THEN
        RAISE EXCEPTION 'this is no charge of yours' USING ERRCODE = 'SL005';
    END IF;
    IF EXISTS (SELECT FROM shortlist.entries x WHERE x.ledger = l.id AND x.refund_of = its_number) THEN
        RAISE EXCEPTION 'it was refunded already' USING ERRCODE = 'SL006';
    END IF;
    e := c;
    e.kind := 'refund';
    e.refundable := '""';
    e.refund_of := c.number;
    e.request := NULL;
    e.guarantee := shortlist.written(guarantee, 1000000);
    e.version := shortlist.written(version, 1000);
    e.epsilon := shortlist.offered(coalesce(epsilon, 'none'));
    e.curve := shortlist.offered(coalesce(curve, 'none'));
    e.delta := '0';
    IF NOT shortlist.at_most(e.epsilon, CASE WHEN c.refundable LIKE '"pure%' THEN coalesce(c.epsilon, '0') ELSE '0' END)
        OR NOT shortlist.at_most(e.curve, CASE WHEN c.refundable LIKE '%zcdp"' THEN coalesce(c.curve, '0') ELSE '0' END)
    THEN
        RAISE EXCEPTION 'this is more than may come back' USING ERRCODE = 'SL007';
    END IF;
    IF e.epsilon = '0' AND e.curve = '0' THEN
        RAISE EXCEPTION 'this refunds nothing' USING ERRCODE = 'SL002';
    END IF;
    e.total_epsilon := shortlist.plus(b.total_epsilon, e.epsilon, -1);
    e.total_curve := shortlist.plus(b.total_curve, e.curve, -1);
    e.total_delta := b.total_delta;
    entry := shortlist.booked(b, e, its_token);
    previous := b.hash;
END $$;

-- Approve what another role asked for: one of another name and another oid.
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
    IF e.who = shortlist.json_of(session_user::text) OR e.who_id = shortlist.caller() THEN
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

REVOKE ALL ON ALL TABLES IN SCHEMA shortlist FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA shortlist FROM PUBLIC;
UPDATE shortlist.about SET version = 4;
