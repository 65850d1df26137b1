-- The tables and rights of hushrec's ledgers in one PostgreSQL database.
--
-- Run it once per database, as a role that may create roles and schemas. Three roles are made, none of which
-- can log in. Grant the last two to the logins of people and programs:
--   hushrec_owner    owns everything here; nobody is a member in daily use
--   hushrec_spender  may charge a ledger, and store what was made under a charge
--   hushrec_raiser   may propose a larger total, or confirm what another raiser proposed
-- All rights are in the database: whoever connects with psql has no others.

DO $roles$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['hushrec_owner', 'hushrec_spender', 'hushrec_raiser'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        END IF;
    END LOOP;
    IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT hushrec_owner TO %I', current_user);
    END IF;
END
$roles$;

CREATE SCHEMA hushrec AUTHORIZATION hushrec_owner;
SET LOCAL ROLE hushrec_owner;

CREATE TABLE hushrec.account (
    ledger text PRIMARY KEY,
    seq bigint NOT NULL CHECK (seq >= 0),
    head bytea NOT NULL CHECK (length(head) = 32),
    spent bigint NOT NULL CHECK (spent >= 0),
    allowed bigint NOT NULL,
    total jsonb NOT NULL,
    max_releases bigint NOT NULL,
    decided bigint NOT NULL,
    CHECK (spent <= allowed)
);
CREATE TABLE hushrec.log (
    ledger text NOT NULL REFERENCES hushrec.account,
    seq bigint NOT NULL,
    body bytea NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (ledger, seq)
);
CREATE TABLE hushrec.artefact (
    ledger text NOT NULL,
    charge bigint NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (ledger, charge),
    FOREIGN KEY (ledger, charge) REFERENCES hushrec.log
);
-- What became of each charge, and what was measured under it: each value once, and only while it is open.
CREATE TABLE hushrec.charge (
    ledger text NOT NULL,
    number bigint NOT NULL,
    state text NOT NULL,
    branch text NOT NULL,
    PRIMARY KEY (ledger, number),
    FOREIGN KEY (ledger, number) REFERENCES hushrec.log
);
CREATE TABLE hushrec.measured (
    ledger text NOT NULL,
    charge bigint NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    PRIMARY KEY (ledger, charge, name),
    FOREIGN KEY (ledger, charge) REFERENCES hushrec.charge
);
-- Whom a ledger was charged for: one population has one ledger.
CREATE TABLE hushrec.population (
    domain text NOT NULL,
    unit text NOT NULL,
    adjacency text NOT NULL,
    ledger text NOT NULL REFERENCES hushrec.account,
    PRIMARY KEY (domain, unit, adjacency)
);
CREATE TABLE hushrec.proposal (
    ledger text NOT NULL REFERENCES hushrec.account,
    number bigint NOT NULL,
    total jsonb NOT NULL,
    allowed bigint NOT NULL,
    max_releases bigint NOT NULL,
    proposed_by text NOT NULL,
    PRIMARY KEY (ledger, number)
);

-- Nothing that is written is changed or deleted by a slip. Superusers and members of hushrec_owner can drop
-- these triggers.

CREATE FUNCTION hushrec.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
    RAISE EXCEPTION 'append-only' USING ERRCODE = 'integrity_constraint_violation';
END
$body$;
CREATE FUNCTION hushrec.keep() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
    IF NEW.ledger <> OLD.ledger OR NEW.seq < OLD.seq OR NEW.spent < OLD.spent
        OR NEW.allowed < OLD.allowed OR NEW.max_releases < OLD.max_releases
        OR NEW.decided < OLD.decided OR (NEW.total - 'epsilon') <> (OLD.total - 'epsilon') THEN
        RAISE EXCEPTION 'nothing spent is taken back' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$body$;
CREATE TRIGGER refused BEFORE DELETE OR TRUNCATE ON hushrec.account EXECUTE FUNCTION hushrec.refuse();
CREATE TRIGGER kept BEFORE UPDATE ON hushrec.account FOR EACH ROW EXECUTE FUNCTION hushrec.keep();
CREATE TRIGGER refused BEFORE UPDATE OR DELETE OR TRUNCATE ON hushrec.log EXECUTE FUNCTION hushrec.refuse();
CREATE TRIGGER refused BEFORE UPDATE OR DELETE OR TRUNCATE ON hushrec.artefact EXECUTE FUNCTION hushrec.refuse();
CREATE TRIGGER refused BEFORE DELETE OR TRUNCATE ON hushrec.charge EXECUTE FUNCTION hushrec.refuse();
CREATE TRIGGER refused BEFORE UPDATE OR DELETE OR TRUNCATE ON hushrec.measured EXECUTE FUNCTION hushrec.refuse();
CREATE TRIGGER refused BEFORE UPDATE OR DELETE OR TRUNCATE ON hushrec.population EXECUTE FUNCTION hushrec.refuse();
CREATE TRIGGER refused BEFORE UPDATE OR DELETE OR TRUNCATE ON hushrec.proposal EXECUTE FUNCTION hushrec.refuse();

-- The account, locked until the end of the transaction: one transaction at a time writes a ledger.
CREATE FUNCTION hushrec.hold(name text) RETURNS hushrec.account LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    held hushrec.account;
BEGIN
    SELECT * INTO held FROM hushrec.account a WHERE a.ledger = name FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no such ledger in this database' USING ERRCODE = 'HR000';
    END IF;
    RETURN held;
END
$body$;

-- Add one record to the chain of a ledger that is held.
CREATE FUNCTION hushrec.link(held hushrec.account, body bytea, hash bytea) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
    IF hash <> sha256(held.head || int8send(held.seq + 1) || body) THEN
        RAISE EXCEPTION 'a record does not follow from the one before it' USING ERRCODE = 'HR001';
    END IF;
    INSERT INTO hushrec.log VALUES (held.ledger, held.seq + 1, body, hash);
END
$body$;

-- Create a ledger with its first record.
CREATE FUNCTION hushrec.create_ledger(name text, body bytea, hash bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    facts jsonb := convert_from(body, 'UTF8')::jsonb;
BEGIN
    IF facts ->> 'kind' IS DISTINCT FROM 'opened' OR hash <> sha256(decode(repeat('00', 32), 'hex') || int8send(0) || body) THEN
        RAISE EXCEPTION 'this is no first record of a ledger' USING ERRCODE = 'HR001';
    END IF;
    INSERT INTO hushrec.account VALUES (
        name, 0, hash, 0, (facts ->> 'allowed')::bigint, facts -> 'total', (facts ->> 'max_releases')::bigint, 0
    );
    INSERT INTO hushrec.log VALUES (name, 0, body, hash);
END
$body$;

-- Add records of charges, and what became of them. What is spent is the sum of the costs in the records.
CREATE FUNCTION hushrec.append(name text, bodies bytea[], hashes bytea[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    held hushrec.account := hushrec.hold(name);
    facts jsonb;
    alone text;
BEGIN
    IF NOT coalesce(cardinality(bodies) > 0 AND cardinality(bodies) = cardinality(hashes), false) THEN
        RAISE EXCEPTION 'every record has one hash' USING ERRCODE = 'HR001';
    END IF;
    FOR place IN 1 .. cardinality(bodies) LOOP
        facts := convert_from(bodies[place], 'UTF8')::jsonb;
        IF NOT coalesce(facts ->> 'kind' IN ('charged', 'taken', 'measured', 'made', 'forfeited', 'declared'), false) THEN
            RAISE EXCEPTION 'a larger total is proposed by one raiser and confirmed by another' USING ERRCODE = 'HR002';
        END IF;
        PERFORM hushrec.link(held, bodies[place], hashes[place]);
        held.seq := held.seq + 1;
        held.head := hashes[place];
        IF facts ->> 'kind' = 'charged' THEN
            held.spent := held.spent + (facts ->> 'cost')::bigint;
            -- Whatever claims an ε, if only under a condition, is of people whom one ledger was charged for.
            IF NOT jsonb_path_exists(facts -> 'caveats', '$[*].name ? (@ starts with "unprotected")') THEN
                INSERT INTO hushrec.population VALUES (
                    facts ->> 'domain', held.total ->> 'unit', held.total ->> 'adjacency', name
                ) ON CONFLICT DO NOTHING;
                SELECT p.ledger INTO alone FROM hushrec.population p
                WHERE (p.domain, p.unit, p.adjacency)
                    = (facts ->> 'domain', held.total ->> 'unit', held.total ->> 'adjacency');
                IF alone IS DISTINCT FROM name THEN
                    RAISE EXCEPTION 'another ledger of this database was charged for the same people' USING ERRCODE = 'HR003';
                END IF;
            END IF;
            INSERT INTO hushrec.charge VALUES (name, held.seq, 'charged', '');
        ELSIF facts ->> 'kind' <> 'declared' THEN
            UPDATE hushrec.charge c SET
                state = CASE WHEN facts ->> 'kind' IN ('made', 'forfeited') THEN facts ->> 'kind' ELSE c.state END,
                branch = CASE WHEN facts ->> 'kind' = 'taken' THEN facts ->> 'branch' ELSE c.branch END
            WHERE c.ledger = name AND c.number = (facts ->> 'charge')::bigint AND c.state = 'charged'
                AND (facts ->> 'kind' <> 'taken' OR c.branch = '');
            IF NOT FOUND THEN
                RAISE EXCEPTION 'this charge is over, or its branch was taken' USING ERRCODE = 'HR004';
            END IF;
            IF facts ->> 'kind' = 'measured' THEN
                INSERT INTO hushrec.measured VALUES (
                    name, (facts ->> 'charge')::bigint, facts ->> 'name', facts ->> 'sha256'
                ) ON CONFLICT DO NOTHING;
                IF NOT FOUND THEN
                    RAISE EXCEPTION 'this value was measured already' USING ERRCODE = 'HR004';
                END IF;
            END IF;
        END IF;
    END LOOP;
    UPDATE hushrec.account a SET seq = held.seq, head = held.head, spent = held.spent WHERE a.ledger = name;
END
$body$;

-- Who spends decides on no total: refuse a login that is a spender. A superuser is a member of every role.
CREATE FUNCTION hushrec.require_no_spender() RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
    IF pg_has_role(session_user, 'hushrec_spender', 'MEMBER')
        AND NOT (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = session_user) THEN
        RAISE EXCEPTION 'this login charges ledgers, so it cannot raise a total; another login can' USING ERRCODE = 'HR002';
    END IF;
END
$body$;

-- One raiser proposes a larger total. A later proposal takes the place of an earlier one.
CREATE FUNCTION hushrec.propose(name text, proposed jsonb, allowed bigint, releases bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    held hushrec.account := hushrec.hold(name);
    last bigint;
BEGIN
    PERFORM hushrec.require_no_spender();
    IF (proposed - 'epsilon') IS DISTINCT FROM (held.total - 'epsilon')
        OR NOT coalesce((proposed ->> 'epsilon')::numeric >= (held.total ->> 'epsilon')::numeric
            AND allowed >= held.allowed AND releases >= held.max_releases, false) THEN
        RAISE EXCEPTION 'only the total and the number of releases may grow' USING ERRCODE = 'HR002';
    END IF;
    SELECT coalesce(max(p.number), 0) INTO last FROM hushrec.proposal p WHERE p.ledger = name;
    INSERT INTO hushrec.proposal VALUES (name, last + 1, proposed, allowed, releases, session_user);
    RETURN last + 1;
END
$body$;

-- Another raiser confirms the last proposal: the record says exactly what was proposed, and names both.
CREATE FUNCTION hushrec.confirm(name text, body bytea, hash bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    held hushrec.account := hushrec.hold(name);
    open hushrec.proposal;
BEGIN
    PERFORM hushrec.require_no_spender();
    SELECT * INTO open FROM hushrec.proposal p
    WHERE p.ledger = name AND p.number > held.decided ORDER BY p.number DESC LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'nothing is proposed' USING ERRCODE = 'HR002';
    END IF;
    IF open.proposed_by = session_user THEN
        RAISE EXCEPTION 'who proposed a larger total cannot confirm it; another raiser can' USING ERRCODE = 'HR002';
    END IF;
    IF convert_from(body, 'UTF8')::jsonb IS DISTINCT FROM jsonb_build_object(
        'kind', 'extended', 'total', open.total, 'allowed', open.allowed, 'max_releases', open.max_releases,
        'proposed_by', open.proposed_by, 'confirmed_by', session_user
    ) THEN
        RAISE EXCEPTION 'this is not what was proposed' USING ERRCODE = 'HR002';
    END IF;
    PERFORM hushrec.link(held, body, hash);
    UPDATE hushrec.account a SET seq = held.seq + 1, head = hash, total = open.total,
        allowed = open.allowed, max_releases = open.max_releases, decided = open.number
    WHERE a.ledger = name;
END
$body$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA hushrec FROM PUBLIC;
GRANT USAGE ON SCHEMA hushrec TO hushrec_spender, hushrec_raiser;
GRANT SELECT ON hushrec.account, hushrec.log, hushrec.proposal TO hushrec_spender, hushrec_raiser;
GRANT SELECT, INSERT ON hushrec.artefact TO hushrec_spender;
GRANT EXECUTE ON FUNCTION hushrec.hold TO hushrec_spender, hushrec_raiser;
GRANT EXECUTE ON FUNCTION hushrec.append TO hushrec_spender;
GRANT EXECUTE ON FUNCTION hushrec.propose, hushrec.confirm TO hushrec_raiser;
RESET ROLE;
