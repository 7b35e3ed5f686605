-- Ledgers in a PostgreSQL database, schema 1: docs/deploy.md says who may do what, docs/ledger.md what the rows mean.
--
-- Nobody but the owner has a right to a table. Analysts call the functions at the end of this file, which run as the
-- owner, take their name from the session, and check in exact numbers what they book. Texts that people wrote are kept as
-- the JSON strings that the chain hashes, in ASCII, so that the server can hash them and every character has a place.

CREATE SCHEMA shortlist;

CREATE TABLE shortlist.about (version integer NOT NULL);

CREATE TABLE shortlist.ledgers (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    content text NOT NULL,          -- the terms, word for word as they are hashed
    origin text NOT NULL,           -- that hash, from which the chain starts
    limit_epsilon text, limit_curve text, limit_delta text NOT NULL,
    whole_delta text,               -- of an (epsilon, delta) budget: all of delta, which the first charge may choose
    approval boolean NOT NULL
);

CREATE TABLE shortlist.analysts (
    ledger integer NOT NULL REFERENCES shortlist.ledgers,
    role text COLLATE "C" NOT NULL,
    PRIMARY KEY (ledger, role)
);

CREATE TABLE shortlist.entries (
    ledger integer NOT NULL REFERENCES shortlist.ledgers,
    number bigint NOT NULL CHECK (number > 0),
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('charge', 'refund', 'request', 'approval', 'close', 'moved')),
    "time" text COLLATE "C" NOT NULL,
    mechanism text COLLATE "C" NOT NULL,
    guarantee text COLLATE "C" NOT NULL,
    purpose text COLLATE "C" NOT NULL,
    unit text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    refundable text COLLATE "C" NOT NULL,
    refund_of bigint,
    epsilon text, curve text, delta text NOT NULL,
    total_epsilon text, total_curve text, total_delta text NOT NULL,
    hash text COLLATE "C" NOT NULL,
    who text COLLATE "C", source text COLLATE "C", request bigint,
    charges bigint NOT NULL,        -- how many there are up to here
    PRIMARY KEY (ledger, number),   -- two entries after the same one cannot both be booked, whatever else goes wrong
    UNIQUE (ledger, refund_of),
    UNIQUE (ledger, hash)
);
CREATE INDEX entries_of_requests ON shortlist.entries (ledger, request) WHERE request IS NOT NULL;
CREATE INDEX entries_that_ask ON shortlist.entries (ledger, who, number) WHERE kind = 'request';

-- What a client called its charge, and which entry that became: none, if somebody asked before it arrived (`find`).
CREATE TABLE shortlist.tokens (
    ledger integer NOT NULL REFERENCES shortlist.ledgers,
    token text COLLATE "C" NOT NULL CHECK (token ~ '^[0-9a-f]{32}$'),
    number bigint,
    PRIMARY KEY (ledger, token)
);

CREATE FUNCTION shortlist.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a ledger only grows' USING ERRCODE = 'SL000';
END $$;
CREATE TRIGGER stays BEFORE UPDATE OR DELETE OR TRUNCATE ON shortlist.ledgers EXECUTE FUNCTION shortlist.refuse();
CREATE TRIGGER stays BEFORE UPDATE OR DELETE OR TRUNCATE ON shortlist.entries EXECUTE FUNCTION shortlist.refuse();
CREATE TRIGGER stays BEFORE UPDATE OR DELETE OR TRUNCATE ON shortlist.tokens EXECUTE FUNCTION shortlist.refuse();

-- Exact numbers: '3', '1/8'. PostgreSQL's numeric adds and multiplies whole numbers without rounding, and `div` of
-- numbers that divide is exact. NULL: there is no such form, or the rule is closed.

CREATE FUNCTION shortlist.above(words text) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT split_part(words, '/', 1)::numeric
$$;
CREATE FUNCTION shortlist.below(words text) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT coalesce(nullif(split_part(words, '/', 2), ''), '1')::numeric
$$;

CREATE FUNCTION shortlist.reduced(above numeric, below numeric) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT div(above, gcd(above, below))::text
        || CASE WHEN div(below, gcd(above, below)) = 1 THEN '' ELSE '/' || div(below, gcd(above, below))::text END
$$;

CREATE FUNCTION shortlist.plus(one text, other text, sign integer) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT shortlist.reduced(
        shortlist.above(one) * shortlist.below(other) + sign * shortlist.above(other) * shortlist.below(one),
        shortlist.below(one) * shortlist.below(other))
$$;

CREATE FUNCTION shortlist.at_most(one text, other text) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT shortlist.above(one) * shortlist.below(other) <= shortlist.above(other) * shortlist.below(one)
$$;

-- A cost that somebody states: not negative, and a multiple of a power of two as all floats are, so that the sums of any
-- number of charges keep within the digits that are read.
CREATE FUNCTION shortlist.offered(words text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
    IF length(words) > 1700 OR words !~ '^[0-9]+(/[1-9][0-9]*)?$' OR length(split_part(words, '/', 1)) > 1000
        OR mod(40966672143876732145176228848043091143928566425868314369800638377010779053124493714260960149070292229477000187962034707314131344279013990700557084216067703100110397626915930050017669416781158249744236172365003101763600273594402063864722325201532144604115521818460662623935143647469165084514879475815880467163982182410113805509643338164835839186040845030529294117697218294439255325218264815180040054295920900280527835303063728875285777248462704511695944824230554347848626506942611938335291999257755662113691788246053880398723321865319809478918081631431889557552749507834196358292243660837246218506196446294893757162080795972525602568587162635206656, shortlist.below(words)) <> 0
    THEN
        RAISE EXCEPTION 'this is no cost' USING ERRCODE = 'SL002';
    END IF;
    RETURN shortlist.reduced(shortlist.above(words), shortlist.below(words));
END $$;

-- A text as the JSON string that Python writes of it, in ASCII: one way to write each.
CREATE FUNCTION shortlist.written(words text, longest integer) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF words IS NULL OR length(words) > 12 * longest + 2 OR words COLLATE "C" !~ ('^"([ !#-\[\]-~]|\\["\\bfnrt]'
        || '|\\u(00(0[0-7bef]|1[0-9a-f]|7f|[89a-f][0-9a-f])|0[1-9a-f][0-9a-f]{2}|[1-9abcef][0-9a-f]{3}|d[0-7][0-9a-f]{2})'
        || '|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})*"$')
    THEN
        RAISE EXCEPTION 'this is no text' USING ERRCODE = 'SL002';
    END IF;
    RETURN words;
END $$;

CREATE FUNCTION shortlist.json_of(words text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT '"' || coalesce(string_agg(CASE
        WHEN code IN (34, 92) THEN '\' || chr(code)
        WHEN code BETWEEN 32 AND 126 THEN chr(code)
        WHEN code = 8 THEN '\b' WHEN code = 9 THEN '\t' WHEN code = 10 THEN '\n' WHEN code = 12 THEN '\f'
        WHEN code = 13 THEN '\r'
        WHEN code < 65536 THEN '\u' || lpad(to_hex(code), 4, '0')
        ELSE '\u' || to_hex(55296 + (code - 65536) / 1024) || '\u' || to_hex(56320 + (code - 65536) % 1024)
    END, '' ORDER BY place), '') || '"'
    FROM (SELECT place, ascii(substr(words, place, 1)) AS code FROM generate_series(1, length(words)) AS place) AS letters
$$;

-- The hash of an entry: SHA-256 of the JSON list of the hash before it, its columns and its facts.
CREATE FUNCTION shortlist.chained(previous text, e shortlist.entries) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT encode(sha256(convert_to('["' || concat_ws(',', previous || '"', e.number, '"' || e.kind || '"',
        '"' || e.time || '"', e.mechanism, e.guarantee, e.purpose, e.unit, e.version, e.refundable,
        coalesce(e.refund_of::text, 'null'),
        coalesce('"' || e.epsilon || '"', 'null'), coalesce('"' || e.curve || '"', 'null'), '"' || e.delta || '"',
        coalesce('"' || e.total_epsilon || '"', 'null'), coalesce('"' || e.total_curve || '"', 'null'),
        '"' || e.total_delta || '"', e.who, e.source, coalesce(e.request::text, 'null')) || ']', 'UTF8')), 'hex')
$$;

-- The ledger of that name, for whoever is its owner or was let in. It is not said which of the two is wrong.
CREATE FUNCTION shortlist.opened(its_name text) RETURNS shortlist.ledgers LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_one shortlist.ledgers;
BEGIN
    SELECT * INTO found_one FROM shortlist.ledgers l WHERE l.name = its_name;
    IF found_one.id IS NULL OR NOT (pg_has_role(session_user, current_user, 'member') OR EXISTS (
        SELECT FROM shortlist.analysts a JOIN pg_roles r ON r.rolname = a.role
        WHERE a.ledger = found_one.id AND pg_has_role(session_user, r.oid, 'member')))
    THEN
        RAISE EXCEPTION 'there is no such ledger for you' USING ERRCODE = 'SL001';
    END IF;
    RETURN found_one;
END $$;

-- One writer at a time, and what it writes is on the disk when it is acknowledged, whatever its session says.
CREATE FUNCTION shortlist.held(its_name text) RETURNS shortlist.ledgers LANGUAGE plpgsql AS $$
DECLARE
    held_one shortlist.ledgers := shortlist.opened(its_name);
BEGIN
    IF current_setting('synchronous_commit') IN ('off', 'local') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM pg_advisory_xact_lock(1936223348, held_one.id);
    RETURN held_one;
END $$;

-- The last entry; of a ledger without any, what the first one follows.
CREATE FUNCTION shortlist.ending(l shortlist.ledgers) RETURNS shortlist.entries LANGUAGE plpgsql AS $$
DECLARE
    last_one shortlist.entries;
BEGIN
    SELECT * INTO last_one FROM shortlist.entries e WHERE e.ledger = l.id ORDER BY e.number DESC LIMIT 1;
    IF last_one.number IS NULL THEN
        last_one.number := 0;
        last_one.hash := l.origin;
        last_one.total_epsilon := CASE WHEN l.limit_epsilon IS NULL THEN NULL ELSE '0' END;
        last_one.total_curve := CASE WHEN l.limit_curve IS NULL THEN NULL ELSE '0' END;
        last_one.total_delta := '0';
        last_one.charges := 0;
        last_one.kind := '';
    END IF;
    RETURN last_one;
END $$;

-- Book `e` after `b`: its number, who books it, when, and its hash are the server's.
CREATE FUNCTION shortlist.booked(b shortlist.entries, e shortlist.entries, its_token text) RETURNS shortlist.entries
LANGUAGE plpgsql AS $$
BEGIN
    IF b.kind IN ('close', 'moved') THEN
        RAISE EXCEPTION 'the ledger was closed' USING ERRCODE = 'SL003';
    END IF;
    e.number := b.number + 1;
    e.time := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"');
    e.who := shortlist.json_of(session_user::text);
    e.charges := b.charges + CASE e.kind WHEN 'charge' THEN 1 ELSE 0 END;
    e.hash := shortlist.chained(b.hash, e);
    INSERT INTO shortlist.entries SELECT e.*;
    INSERT INTO shortlist.tokens VALUES (e.ledger, its_token, e.number);
    RETURN e;
END $$;

-- Refuse a token that was used, or that somebody asked for before: then it was said that it will never be booked.
CREATE FUNCTION shortlist.check_token(l shortlist.ledgers, its_token text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM shortlist.tokens t WHERE t.ledger = l.id AND t.token = its_token) THEN
        RAISE EXCEPTION 'this token was used' USING ERRCODE = 'SL004';
    END IF;
END $$;

-- What analysts call.

-- Which ledger this is, and whether its server keeps what it acknowledges. The first column stays the first for ever.
CREATE FUNCTION shortlist.look(its_name text, seen bigint) RETURNS TABLE (
    version integer, id integer, content text, origin text, limits text[], approval boolean, seen_hash text,
    synced boolean
) LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l shortlist.ledgers := shortlist.opened(its_name);
BEGIN
    RETURN QUERY SELECT (SELECT max(a.version) FROM shortlist.about a), l.id, l.content, l.origin,
        ARRAY[l.limit_epsilon, l.limit_curve, l.limit_delta, l.whole_delta], l.approval,
        (SELECT e.hash FROM shortlist.entries e WHERE e.ledger = l.id AND e.number = seen),
        current_setting('fsync')::boolean;
END $$;

-- The entries from one number to another.
CREATE FUNCTION shortlist.rows_between(its_name text, first_one bigint, last_one bigint)
RETURNS SETOF shortlist.entries
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l shortlist.ledgers := shortlist.opened(its_name);
BEGIN
    RETURN QUERY SELECT * FROM shortlist.entries e
        WHERE e.ledger = l.id AND e.number BETWEEN first_one AND last_one ORDER BY e.number;
END $$;

-- The first entry and the last two, and what the last one refunds.
CREATE FUNCTION shortlist.ends(its_name text) RETURNS SETOF shortlist.entries
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l shortlist.ledgers := shortlist.opened(its_name);
BEGIN
    RETURN QUERY
        WITH b AS (SELECT x.number, x.refund_of FROM shortlist.entries x WHERE x.ledger = l.id ORDER BY x.number DESC LIMIT 1)
        SELECT e.* FROM shortlist.entries e, b
        WHERE e.ledger = l.id AND e.number IN (1, b.number - 1, b.number, b.refund_of) ORDER BY e.number;
END $$;

-- The entry with this hash.
CREATE FUNCTION shortlist.with_hash(its_name text, its_hash text) RETURNS SETOF shortlist.entries
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l shortlist.ledgers := shortlist.opened(its_name);
BEGIN
    RETURN QUERY SELECT * FROM shortlist.entries e WHERE e.ledger = l.id AND e.hash = its_hash;
END $$;

-- What a token became. If nothing, it stays so: whatever comes under this token afterwards is refused.
CREATE FUNCTION shortlist.find(its_name text, its_token text) RETURNS SETOF shortlist.entries
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l shortlist.ledgers := shortlist.held(its_name);
BEGIN
    INSERT INTO shortlist.tokens VALUES (l.id, its_token, NULL) ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT e.* FROM shortlist.tokens t JOIN shortlist.entries e USING (ledger, number)
        WHERE t.ledger = l.id AND t.token = its_token;
END $$;

-- Book a charge if it fits: the entry and the hash before it. One row without a number: it does not fit. In a ledger with
-- approval the entry that waits for it, an old one or a new one, comes back instead.
CREATE FUNCTION shortlist.charge(
    its_name text, its_token text, guarantee text, mechanism text, purpose text, unit text, refundable text,
    source text, version text, epsilon text, curve text, delta text,
    OUT entry shortlist.entries, OUT previous text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l shortlist.ledgers := shortlist.held(its_name);
    b shortlist.entries := shortlist.ending(l);
    e shortlist.entries;
    asked shortlist.entries;
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
                AND NOT EXISTS (SELECT FROM shortlist.entries c
                    WHERE c.ledger = l.id AND c.request = r.number AND c.kind = 'charge')
            ORDER BY r.number DESC LIMIT 1;
        IF asked.number IS NULL THEN
            e.kind := 'request';
            e.epsilon := '0'; e.curve := '0'; e.delta := '0';
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

-- Give back part of a charge, once, to whoever made it, in the currencies that it named; never a delta.
CREATE FUNCTION shortlist.refund(
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
            AND x.who = shortlist.json_of(session_user::text);
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
    e.total_epsilon := shortlist.plus(b.total_epsilon, e.epsilon, -1);
    e.total_curve := shortlist.plus(b.total_curve, e.curve, -1);
    e.total_delta := b.total_delta;
    entry := shortlist.booked(b, e, its_token);
    previous := b.hash;
END $$;

-- Approve what another role asked for.
CREATE FUNCTION shortlist.approve(
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
    e.total_epsilon := b.total_epsilon; e.total_curve := b.total_curve; e.total_delta := b.total_delta;
    entry := shortlist.booked(b, e, its_token);
    previous := b.hash;
END $$;

-- What the owner alone calls: nobody is granted this.

CREATE FUNCTION shortlist.close(
    its_name text, its_token text, reason text, target text, version text,
    OUT entry shortlist.entries, OUT previous text
) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l shortlist.ledgers := shortlist.held(its_name);
    b shortlist.entries := shortlist.ending(l);
    e shortlist.entries;
BEGIN
    e.ledger := l.id;
    e.kind := 'close';
    e.guarantee := '""'; e.mechanism := '""'; e.unit := '""'; e.refundable := '""';
    e.purpose := shortlist.written(reason, 10000);
    e.source := shortlist.written(target, 10000);
    e.version := shortlist.written(version, 1000);
    e.epsilon := '0'; e.curve := '0'; e.delta := '0';
    e.total_epsilon := b.total_epsilon; e.total_curve := b.total_curve; e.total_delta := b.total_delta;
    entry := shortlist.booked(b, e, its_token);
    previous := b.hash;
END $$;

REVOKE ALL ON SCHEMA shortlist FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA shortlist FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA shortlist FROM PUBLIC;
INSERT INTO shortlist.about VALUES (1);
