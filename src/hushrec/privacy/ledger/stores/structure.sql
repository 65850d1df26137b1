-- What was set up: every function, trigger, column, constraint and right in the schema, a line each.
SELECT concat_ws(' ', 'function', p.proname, p.prosecdef, r.rolname, p.proconfig, p.prosrc)
FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner
WHERE p.pronamespace = 'hushrec'::regnamespace
UNION ALL
SELECT concat_ws(' ', 'trigger', c.relname, t.tgname, t.tgtype, t.tgenabled, f.proname)
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc f ON f.oid = t.tgfoid
WHERE c.relnamespace = 'hushrec'::regnamespace AND NOT t.tgisinternal
UNION ALL
SELECT concat_ws(' ', 'column', c.relname, a.attname, a.atttypid::regtype, a.attnotnull, r.rolname)
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_roles r ON r.oid = c.relowner
WHERE c.relnamespace = 'hushrec'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT concat_ws(' ', 'constraint', c.relname, k.contype, pg_get_constraintdef(k.oid))
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
WHERE c.relnamespace = 'hushrec'::regnamespace AND k.contype <> 'n' -- PostgreSQL 18 lists NOT NULL as well
UNION ALL
SELECT concat_ws(' ', 'right', c.relname, coalesce(r.rolname, 'PUBLIC'), g.privilege_type, g.is_grantable)
FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) g LEFT JOIN pg_roles r ON r.oid = g.grantee
WHERE c.relnamespace = 'hushrec'::regnamespace AND c.relkind = 'r' AND g.grantee <> c.relowner
UNION ALL
SELECT concat_ws(' ', 'right', p.proname, coalesce(r.rolname, 'PUBLIC'), g.privilege_type, g.is_grantable)
FROM pg_proc p CROSS JOIN LATERAL aclexplode(p.proacl) g LEFT JOIN pg_roles r ON r.oid = g.grantee
WHERE p.pronamespace = 'hushrec'::regnamespace
UNION ALL
SELECT concat_ws(' ', 'right', c.relname, a.attname, coalesce(r.rolname, 'PUBLIC'), g.privilege_type)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid CROSS JOIN LATERAL aclexplode(a.attacl) g
LEFT JOIN pg_roles r ON r.oid = g.grantee
WHERE c.relnamespace = 'hushrec'::regnamespace
UNION ALL
SELECT concat_ws(' ', 'rule', tablename, rulename) FROM pg_rules WHERE schemaname = 'hushrec'
