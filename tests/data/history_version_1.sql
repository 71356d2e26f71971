-- A history as version 1 of its tables was written; never made anew.
PRAGMA application_id = 1463972455;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE cells (
        run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
        depth INTEGER NOT NULL,
        concurrency INTEGER NOT NULL,
        cell TEXT NOT NULL,
        PRIMARY KEY (run, depth, concurrency)
    ) WITHOUT ROWID;
INSERT INTO "cells" VALUES('20250601-101500-7f3a',0,1,'{"depth":0,"concurrency":1,"samples":[{"kind":"cold","started_ns":0,"arrivals_ns":[1000000],"counts":[1],"first_byte_ns":999000,"first_answer_ns":1000000,"ended_ns":1001000,"tokens":1,"token_source":"timings","prompt_tokens":1,"cached_tokens":0,"finish":"length","truncated":false,"user":0,"round":0,"server_timings":{"prompt_n":1,"prompt_ms":1.0,"cache_n":0,"predicted_n":1,"predicted_ms":0.0},"problems":[]},{"kind":"run","started_ns":0,"arrivals_ns":[50000000,98780488,147560976,196341463,245121951,293902439],"counts":[1,2,3,4,5,6],"first_byte_ns":49999000,"first_answer_ns":50000000,"ended_ns":3123171732,"tokens":64,"token_source":"timings","prompt_tokens":1,"cached_tokens":0,"finish":"length","truncated":false,"user":0,"round":0,"server_timings":{"prompt_n":1,"prompt_ms":50.0,"cache_n":0,"predicted_n":64,"predicted_ms":3073.170731707317},"problems":[]},{"kind":"run","started_ns":2000000000,"arrivals_ns":[50000000,99382716,148765432,198148148,247530864,296913580],"counts":[1,2,3,4,5,6],"first_byte_ns":49999000,"first_answer_ns":50000000,"ended_ns":3161112111,"tokens":64,"token_source":"timings","prompt_tokens":1,"cached_tokens":0,"finish":"length","truncated":false,"user":0,"round":1,"server_timings":{"prompt_n":1,"prompt_ms":50.0,"cache_n":0,"predicted_n":64,"predicted_ms":3111.1111111111113},"problems":[]}],"problems":[],"finished":true}');
INSERT INTO "cells" VALUES('20250601-101500-7f3a',4096,1,'{"depth":4096,"concurrency":1,"samples":[{"kind":"cold","started_ns":0,"arrivals_ns":[4096000000],"counts":[1],"first_byte_ns":4095999000,"first_answer_ns":4096000000,"ended_ns":4096001000,"tokens":1,"token_source":"timings","prompt_tokens":4096,"cached_tokens":0,"finish":"length","truncated":false,"user":0,"round":0,"server_timings":{"prompt_n":4096,"prompt_ms":4096.0,"cache_n":0,"predicted_n":1,"predicted_ms":0.0},"problems":[]},{"kind":"run","started_ns":0,"arrivals_ns":[50000000,110606061,171212121,231818182,292424242,353030303],"counts":[1,2,3,4,5,6],"first_byte_ns":49999000,"first_answer_ns":50000000,"ended_ns":3868182818,"tokens":64,"token_source":"timings","prompt_tokens":4096,"cached_tokens":4095,"finish":"length","truncated":false,"user":0,"round":0,"server_timings":{"prompt_n":1,"prompt_ms":50.0,"cache_n":4095,"predicted_n":64,"predicted_ms":3818.1818181818185},"problems":[]},{"kind":"run","started_ns":2000000000,"arrivals_ns":[50000000,111538462,173076923,234615385,296153846,357692308],"counts":[1,2,3,4,5,6],"first_byte_ns":49999000,"first_answer_ns":50000000,"ended_ns":3926924077,"tokens":64,"token_source":"timings","prompt_tokens":4096,"cached_tokens":4095,"finish":"length","truncated":false,"user":0,"round":1,"server_timings":{"prompt_n":1,"prompt_ms":50.0,"cache_n":4095,"predicted_n":64,"predicted_ms":3876.923076923077},"problems":[]}],"problems":[],"finished":true}');
CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        started TEXT NOT NULL,
        ended TEXT NOT NULL DEFAULT '',
        status TEXT NOT NULL,
        model TEXT NOT NULL DEFAULT '',
        head TEXT NOT NULL,
        plan TEXT,
        title TEXT NOT NULL DEFAULT '',
        notes TEXT NOT NULL DEFAULT ''
    ) WITHOUT ROWID;
INSERT INTO "runs" VALUES('20250601-101500-7f3a','2025-06-01T10:15:00Z','2025-06-01T10:16:00Z','done','Qwen3 4B','{"id":"20250601-101500-7f3a","started":"2025-06-01T10:15:00Z","target":{"kind":"llama-server","url":"http://127.0.0.1:8080","model":"qwen3-4b","version":"b11434-abcdef0","model_path":"","model_bytes":null,"parameters":null,"label":"","context":16384,"trained_context":null,"slots":1,"cache_k":"f16","cache_v":"f16","gpu_layers":null,"loaded_bytes":null,"gpu_bytes":null,"speculative":null,"pid":null,"arguments":[]},"plan":{"depths":[0,4096],"runs":6,"tokens":64,"warm_ups":1,"cold":1,"concurrency":[1],"seed":1,"stall_seconds":300.0},"status":"done","ended":"2025-06-01T10:16:00Z","cells":[],"telemetry":[],"problems":[],"versions":{"weighbridge":"0.1.0","python":"3.11.7"},"machine":{},"schema":1}','{"model":"Qwen3 4B","architecture":"qwen3","label":"Q4_K_M","path":"/models/Qwen3-4B-Q4_K_M.gguf","file_bytes":2497280256,"machine":"This computer","settings":{"context":16384},"parameters":null,"weights":null,"cache":null,"total":null,"verdict":"","basis":"","curve":[{"depth":0,"bytes":2500000000,"ceiling":20.5,"low":null,"mid":null,"high":null,"uncorrected":null},{"depth":16384,"bytes":4900000000,"ceiling":10.4,"low":null,"mid":null,"high":null,"uncorrected":null}],"at":[],"fingerprint":"","configuration":"","unified":false,"gpus":0}','before the new driver','');
CREATE TABLE telemetry (
        run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        reading TEXT NOT NULL,
        PRIMARY KEY (run, number)
    ) WITHOUT ROWID;
COMMIT;
