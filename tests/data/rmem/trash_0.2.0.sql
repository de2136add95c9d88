-- The trash.db of zeroclaw_tui 0.2.0 (commit b71090fc), dumped with sqlite3's iterdump. That version could still change
-- a rustmem.db. Made on 2026-11-28 beside a config.toml with backend = "rmem" and the file of tests/support/rmem_file.mila:
--   zeroclaw memory forget rmem_0b0e7c1e0000 --yes
--   zeroclaw memory edit rmem_1c1f8d2f0000 --category personal --yes
PRAGMA user_version = 1;
PRAGMA application_id = 0;
BEGIN TRANSACTION;
CREATE TABLE actions (
      number INTEGER PRIMARY KEY AUTOINCREMENT, store INTEGER NOT NULL REFERENCES stores(number), verb TEXT NOT NULL,
      at TEXT NOT NULL, moment REAL NOT NULL, summary TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('begun', 'done')), size INTEGER NOT NULL DEFAULT 0);
INSERT INTO "actions" VALUES(1,1,'forget','2026-11-28T14:44:41.761440+00:00',1795877081.76144,'deleted rmem_0b0e7c1e0000','done',222);
INSERT INTO "actions" VALUES(2,1,'edit','2026-11-28T14:44:43.245081+00:00',1.79587708324508094786e+09,'edited rmem_1c1f8d2f0000 (category)','done',436);
CREATE TABLE blobs (
      number INTEGER PRIMARY KEY REFERENCES kept(number) ON DELETE CASCADE, before BLOB, after BLOB);
INSERT INTO "blobs" VALUES(1,X'0000803F0000000000000000',NULL);
INSERT INTO "blobs" VALUES(2,X'000000000000803F00000000',NULL);
CREATE TABLE clock (number INTEGER PRIMARY KEY CHECK (number = 1), seen REAL NOT NULL, jumped REAL);
INSERT INTO "clock" VALUES(1,1.79587708324508094786e+09,NULL);
CREATE TABLE kept (
      number INTEGER PRIMARY KEY AUTOINCREMENT, action INTEGER NOT NULL REFERENCES actions(number),
      store INTEGER NOT NULL REFERENCES stores(number), table_name TEXT NOT NULL, id NOT NULL,
      deleted INTEGER NOT NULL, taken_back INTEGER NOT NULL DEFAULT 0, reverses INTEGER, size INTEGER NOT NULL,
      key TEXT, content TEXT, before TEXT, after TEXT, content_after TEXT);
INSERT INTO "kept" VALUES(1,1,1,'memories','0b0e7c1e-0000-4000-8000-000000000001',1,0,NULL,222,'rmem_0b0e7c1e0000','Mila keeps bees on the roof','["0b0e7c1e-0000-4000-8000-000000000001",1,null,"memories",[["id","0b0e7c1e-0000-4000-8000-000000000001"],["key","rmem_0b0e7c1e0000"],["content",["content"]],["category","personal"],["created_at","2026-04-10 09:00:00"],["updated_at","2026-04-10 09:00:00"],["session_id",null],["namespace","mila"],["importance",null],["superseded_by",null],["pinned",null],["kind",null],["tenant_id",null],["embedding_dimensions",3],["embedding",["bytes",0,12]],["in_archive",0],["in_index",1],["no_category",0]]]',NULL,NULL);
INSERT INTO "kept" VALUES(2,2,1,'memories','1c1f8d2f-0000-4000-8000-000000000002',0,0,NULL,436,'rmem_1c1f8d2f0000','Mila prefers rye bread','["1c1f8d2f-0000-4000-8000-000000000002",2,null,"memories",[["id","1c1f8d2f-0000-4000-8000-000000000002"],["key","rmem_1c1f8d2f0000"],["content",["content"]],["category","preference"],["created_at","2026-04-11 09:00:00"],["updated_at","2026-04-11 09:00:00"],["session_id",null],["namespace","mila"],["importance",null],["superseded_by",null],["pinned",null],["kind",null],["tenant_id",null],["embedding_dimensions",3],["embedding",["bytes",0,12]],["in_archive",0],["in_index",1],["no_category",0]]]','["1c1f8d2f-0000-4000-8000-000000000002",2,null,"memories",[["id","1c1f8d2f-0000-4000-8000-000000000002"],["key","rmem_1c1f8d2f0000"],["content",["content"]],["category","personal"],["created_at","2026-04-11 09:00:00"],["updated_at","2026-04-11 09:00:00"],["session_id",null],["namespace","mila"],["importance",null],["superseded_by",null],["pinned",null],["kind",null],["tenant_id",null],["embedding_dimensions",3],["embedding",["same"]],["in_archive",0],["in_index",1],["no_category",0]]]','Mila prefers rye bread');
CREATE TABLE stores (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO "stores" VALUES(1,'rmem:rustmem.db');
CREATE INDEX actions_of_store ON actions(store, number);
CREATE INDEX kept_of_action ON kept(action, table_name, taken_back);
CREATE INDEX kept_of_id ON kept(id);
CREATE INDEX kept_reversing ON kept(reverses) WHERE reverses IS NOT NULL;
CREATE INDEX kept_in_trash ON kept(store) WHERE deleted = 1 AND taken_back = 0;
CREATE TRIGGER kept_reverses AFTER INSERT ON kept WHEN new.reverses IS NOT NULL BEGIN
      UPDATE kept SET taken_back = taken_back + 1 WHERE number = new.reverses; END;
CREATE TRIGGER kept_toggled AFTER UPDATE OF taken_back ON kept
      WHEN new.reverses IS NOT NULL AND (old.taken_back = 0) <> (new.taken_back = 0) BEGIN
      UPDATE kept SET taken_back = taken_back + iif(new.taken_back = 0, 1, -1) WHERE number = new.reverses; END;
CREATE TRIGGER kept_struck AFTER DELETE ON kept WHEN old.reverses IS NOT NULL AND old.taken_back = 0 BEGIN
      UPDATE kept SET taken_back = taken_back - 1 WHERE number = old.reverses; END;
CREATE TRIGGER kept_heir AFTER DELETE ON kept WHEN old.deleted = 1 AND old.taken_back = 0 BEGIN
      UPDATE kept SET deleted = 1 WHERE number = (SELECT max(again.number) FROM kept restored
        JOIN kept again ON again.reverses = restored.number
        WHERE restored.reverses = old.number AND again.before IS NOT NULL AND again.after IS NULL); END;
COMMIT;
