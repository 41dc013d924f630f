-- The first revision: every table, its codec, partitions and sort order (files written before a change are never rewritten).
call lake.set_option('parquet_compression', 'zstd');
call lake.set_option('parquet_compression_level', '3');
call lake.set_option('parquet_version', '2');
call lake.set_option('parquet_row_group_size', '245760');

-- telemetry ----------------------------------------------------------------------------------------------------------
create table samples (
  cluster varchar, series_id bigint, sampled_at timestamptz, source varchar, hold_ms integer,
  gr_engine_permille integer, gpu_util_permille integer, sm_permille integer, tensor_permille integer, dram_permille integer,
  mem_copy_permille integer, power_dw integer, energy_j bigint, gpu_temp_c integer, memory_temp_c integer,
  sm_clock_mhz integer, memory_clock_mhz integer, fb_used_mib integer, xid integer, label_ref bigint
);
alter table samples set partitioned by (cluster, year(sampled_at), month(sampled_at));
alter table samples set sorted by (series_id asc, sampled_at asc);

create table series_versions (
  cluster varchar, series_id bigint, start_at timestamptz, end_at timestamptz, source varchar, node varchar, gpu_uuid varchar,
  gi_id varchar, vgpu varchar, profile varchar, model varchar, device_index integer, kind varchar, label_generation varchar,
  target varchar, revision integer, recorded_at timestamptz
);
create table label_refs (
  cluster varchar, label_ref bigint, namespace varchar, pod varchar, container varchar, pod_uid varchar, hpc_job varchar, recorded_at timestamptz
);
create table targets_versions (
  cluster varchar, target_id bigint, start_at timestamptz, end_at timestamptz, source varchar, target varchar, node varchar,
  interval_ms bigint, revision integer, recorded_at timestamptz
);
create table gaps_versions (
  cluster varchar, gap_id bigint, start_at timestamptz, end_at timestamptz, covers varchar, source varchar, target varchar, node varchar,
  reason varchar, revision integer, recorded_at timestamptz
);

-- the fleet and who holds it -----------------------------------------------------------------------------------------
create table nodes_versions (
  cluster varchar, node varchar, start_at timestamptz, end_at timestamptz, pool varchar, model varchar, gpu_count integer,
  cpu_milli bigint, memory_mib bigint, sharing varchar, replicas integer, schedulable boolean, ready boolean,
  revision integer, recorded_at timestamptz
);
create table devices_versions (
  cluster varchar, device_id bigint, start_at timestamptz, end_at timestamptz, node varchar, device_index integer, gpu_uuid varchar,
  gi_id varchar, mig_uuid varchar, kind varchar, profile varchar, parts bigint, healthy boolean, evidence varchar,
  revision integer, recorded_at timestamptz
);
create table workloads_versions (
  cluster varchar, workload_id bigint, start_at timestamptz, end_at timestamptz, api_group varchar, kind varchar, namespace varchar,
  name varchar, uid varchar, owner_chain varchar, person_id bigint, experiment varchar, tags varchar, gang_minimum integer,
  revision integer, recorded_at timestamptz
);
create table allocations_versions (
  cluster varchar, allocation_id bigint, start_at timestamptz, started_at timestamptz, end_at timestamptz, source varchar, workload_id bigint,
  node varchar, namespace varchar, pod varchar, pod_uid varchar, end_evidence varchar, sure_start_at timestamptz, sure_end_at timestamptz,
  priority integer, preemptible boolean, gpu_parts bigint, cpu_milli bigint, memory_mib bigint, labels varchar, user_patterns varchar,
  revision integer, recorded_at timestamptz
);
create table holdings_versions (
  cluster varchar, holding_id bigint, start_at timestamptz, end_at timestamptz, allocation_id bigint, device_id bigint, parts bigint,
  evidence varchar, revision integer, recorded_at timestamptz
);
create table demand_versions (
  cluster varchar, demand_id bigint, start_at timestamptz, end_at timestamptz, workload_id bigint, namespace varchar, pool varchar,
  gpu_parts bigint, pods integer, gang_minimum integer, reason varchar, source varchar, labels varchar, user_patterns varchar,
  revision integer, recorded_at timestamptz
);
create table quotas_versions (
  cluster varchar, quota_id bigint, start_at timestamptz, end_at timestamptz, team varchar, pool varchar, guaranteed_parts bigint,
  limit_parts bigint, weight integer, kind varchar, source varchar, source_object varchar, revision integer, recorded_at timestamptz
);
create table growth_versions (
  cluster varchar, growth_id bigint, start_at timestamptz, end_at timestamptz, pool varchar, limit_parts bigint, coming_parts bigint,
  source varchar, source_object varchar, revision integer, recorded_at timestamptz
);
create table authority_versions (
  cluster varchar, authority_id bigint, start_at timestamptz, end_at timestamptz, source varchar, rank integer, kind varchar,
  revision integer, recorded_at timestamptz
);

-- words: teams, rules, floors, people --------------------------------------------------------------------------------
create table teams_versions (
  team_id bigint, team varchar, start_at timestamptz, end_at timestamptz, department varchar, cost_centre varchar,
  revision integer, recorded_at timestamptz
);
create table team_rules_versions (
  rule_id bigint, start_at timestamptz, end_at timestamptz, position integer, team varchar, cluster_glob varchar, namespace_glob varchar,
  label_key varchar, label_glob varchar, user_pattern_id bigint, unix_user_pattern_id bigint,
  unix_group_pattern_id bigint, revision integer, recorded_at timestamptz
);
-- workload_kind and model are patterns; of the rows of a signal that match the most special counts; floor is permille, of power deciwatts
create table thresholds_versions (
  threshold_id bigint, start_at timestamptz, end_at timestamptz, signal varchar, workload_kind varchar, model varchar, floor integer,
  measured_how varchar, revision integer, recorded_at timestamptz
);
create table people (person_id bigint, name varchar, contact varchar, recorded_at timestamptz);
create table people_reads (person_id bigint, reader varchar, what varchar, read_at timestamptz, recorded_at timestamptz);

-- marks --------------------------------------------------------------------------------------------------------------
create table cuts (cut_at timestamptz, reason varchar, recorded_at timestamptz);
create table watermarks (cluster varchar, source varchar, covers varchar, complete_until_at timestamptz, recorded_at timestamptz);
create table rollup_marks (
  cluster varchar, snapshot_id bigint, rolled_from_at timestamptz, rolled_until_at timestamptz, longest_hold_ms bigint, time_zone varchar,
  recorded_at timestamptz
);

-- what the roll-up gives ---------------------------------------------------------------------------------------------
create table usage_hourly (
  cluster varchar, row_start_at timestamptz, row_end_at timestamptz, pool varchar, model varchar, node varchar, device_id bigint,
  allocation_id bigint, workload_id bigint, team varchar, capacity_pms bigint, held_pms bigint, computing_pms bigint, idle_pms bigint,
  unknown_pms bigint, unallocated_pms bigint, unavailable_pms bigint, unobserved_pms bigint, idle_confirmed_pms bigint, stalled_pms bigint,
  faulted_pms bigint, not_started_pms bigint, borrowed_pms bigint, estimated_pms bigint, overbooked_pms bigint, energy_j bigint,
  energy_known_pms bigint, activity_permille_pms bigint, activity_peak_permille integer, power_peak_dw integer, fb_used_peak_mib integer
);
alter table usage_hourly set partitioned by (cluster, year(row_start_at), month(row_start_at));
alter table usage_hourly set sorted by (device_id asc, row_start_at asc);

create table usage_daily (
  cluster varchar, business_day varchar, pool varchar, model varchar, team varchar, workload_id bigint, capacity_pms decimal(38, 0),
  held_pms decimal(38, 0), computing_pms decimal(38, 0), idle_pms decimal(38, 0), unknown_pms decimal(38, 0), unallocated_pms decimal(38, 0),
  unavailable_pms decimal(38, 0), unobserved_pms decimal(38, 0), idle_confirmed_pms decimal(38, 0), stalled_pms decimal(38, 0),
  faulted_pms decimal(38, 0), not_started_pms decimal(38, 0), borrowed_pms decimal(38, 0), estimated_pms decimal(38, 0),
  overbooked_pms decimal(38, 0), energy_j decimal(38, 0), energy_known_pms decimal(38, 0), activity_permille_pms decimal(38, 0),
  activity_peak_permille integer, power_peak_dw integer, fb_used_peak_mib integer
);
alter table usage_daily set partitioned by (cluster);
alter table usage_daily set sorted by (business_day asc, team asc, workload_id asc);

create table usage_late (
  cluster varchar, row_start_at timestamptz, pool varchar, model varchar, node varchar, device_id bigint, allocation_id bigint,
  workload_id bigint, team varchar, capacity_pms bigint, held_pms bigint, computing_pms bigint, idle_pms bigint, unknown_pms bigint,
  unallocated_pms bigint, unavailable_pms bigint, unobserved_pms bigint, idle_confirmed_pms bigint, stalled_pms bigint, faulted_pms bigint,
  not_started_pms bigint, borrowed_pms bigint, estimated_pms bigint, overbooked_pms bigint, energy_j bigint, energy_known_pms bigint,
  activity_permille_pms bigint, row_end_at timestamptz, recorded_at timestamptz
);
create table quota_hourly (
  cluster varchar, row_start_at timestamptz, row_end_at timestamptz, team varchar, pool varchar, guaranteed_pms bigint, held_pms bigint,
  within_pms bigint, borrowed_pms bigint, lent_pms bigint, from_spare_pms bigint, unused_pms bigint, waiting_pms bigint
);
alter table quota_hourly set sorted by (row_start_at asc);
create table lending_hourly (
  cluster varchar, row_start_at timestamptz, row_end_at timestamptz, pool varchar, lender varchar, borrower varchar, lent_pms bigint
);
alter table lending_hourly set sorted by (row_start_at asc);

-- money --------------------------------------------------------------------------------------------------------------
create table cards_versions (
  card_id bigint, card varchar, start_at timestamptz, end_at timestamptz, currency varchar, share_unallocated varchar,
  share_unavailable varchar, share_unobserved varchar, bill_faulted boolean, terms varchar, author varchar, source varchar,
  revision integer, recorded_at timestamptz
);
-- a card's price list is the rows of its highest version in force; among them the lowest position whose globs match wins
create table rates (
  rate_id bigint, card varchar, version integer, position integer, cluster_glob varchar, pool_glob varchar, model_glob varchar, profile_glob varchar, purchase varchar,
  measure varchar, unit varchar, price decimal(18, 9), currency varchar, start_at timestamptz, end_at timestamptz, author varchar,
  recorded_at timestamptz
);
-- of the tariffs whose glob matches a cluster the longest glob counts
create table tariffs_versions (
  tariff_id bigint, start_at timestamptz, end_at timestamptz, cluster_glob varchar, kwh_price decimal(18, 9), currency varchar,
  pue_permille integer, grams_per_kwh decimal(18, 6), author varchar, revision integer, recorded_at timestamptz
);
create table carbon (
  cluster varchar, start_at timestamptz, end_at timestamptz, grams_per_kwh decimal(18, 6), source varchar, recorded_at timestamptz
);
create table fx (
  fx_id bigint, from_currency varchar, to_currency varchar, rate decimal(18, 9), start_day varchar, end_day varchar, source varchar,
  author varchar, recorded_at timestamptz
);
create table charges (
  charge_id bigint, cluster varchar, business_day varchar, pool varchar, model varchar, team varchar, workload_id bigint, kind varchar,
  account varchar, quantity_pms decimal(38, 0), unit_price decimal(18, 9), amount decimal(18, 6), currency varchar, rate_id bigint,
  corrects bigint, detail varchar, measure varchar, quantity decimal(38, 6), recorded_at timestamptz
);
alter table charges set partitioned by (cluster);
alter table charges set sorted by (business_day asc, team asc, workload_id asc);

-- the books ----------------------------------------------------------------------------------------------------------
-- a period by its states, one row a change: the highest revision is what it is now
create table periods_versions (
  period varchar, revision integer, state varchar, calendar varchar, time_zone varchar, start_day varchar, end_day varchar,
  start_at timestamptz, end_at timestamptz, closes_at timestamptz, number bigint, replaces bigint, sha256 varchar, snapshot_id bigint,
  program varchar, ledger_revision varchar, manifest varchar, actor varchar, second varchar, reason varchar, recorded_at timestamptz
);
create table statements (
  statement varchar, number bigint, period varchar, team varchar, department varchar, cost_centre varchar, currency varchar,
  amount decimal(18, 2), exact_amount decimal(18, 6), recorded_at timestamptz
);
-- which line of which closed day a correction is of, also where that day had no such line
create table corrections (
  charge_id bigint, line_id bigint, cluster varchar, business_day varchar, recorded_at timestamptz
);
create table invoices_versions (
  invoice_id bigint, revision integer, period varchar, invoice varchar, issuer varchar, cluster varchar, model varchar, business_day varchar,
  amount decimal(18, 6), currency varchar, share varchar, source varchar, actor varchar, recorded_at timestamptz
);
create table disputes_versions (
  dispute_id bigint, revision integer, charge_id bigint, cluster varchar, business_day varchar, team varchar, amount decimal(18, 6),
  currency varchar, state varchar, words varchar, credited decimal(18, 6), credit_id bigint, raised_at timestamptz, actor varchar,
  recorded_at timestamptz
);
create table budgets_versions (
  budget_id bigint, team varchar, period varchar, start_at timestamptz, end_at timestamptz, amount decimal(18, 6), currency varchar,
  alerts varchar, revision integer, recorded_at timestamptz
);
create table findings_versions (
  cluster varchar, finding_id bigint, start_at timestamptz, end_at timestamptz, kind varchar, subject varchar, team varchar,
  signals varchar, coverage_permille integer, cost decimal(18, 6), currency varchar, evidence varchar, state varchar,
  revision integer, recorded_at timestamptz
);

-- what the enforcer would do, and did -----------------------------------------------------------------------------------
create table plans (
  cluster varchar, plan_hash varchar, planned_at timestamptz, mode varchar, snapshot_hash varchar, policy_hash varchar, actions integer,
  body varchar, recorded_at timestamptz
);
create table actions (
  cluster varchar, plan_hash varchar, planned_at timestamptz, mode varchar, position integer, group_number integer, act varchar,
  cause varchar, stage varchar, kind varchar, namespace varchar, name varchar, object_uid varchar, object_version varchar,
  workload_id bigint, team varchar, pool varchar, for_uid varchar, frees_parts bigint, lost_pms decimal(38, 0), recorded_at timestamptz
);
-- what was meant and what came of it, chained by hash: a cluster's rows are numbered from 1 without a hole
create table deeds (
  cluster varchar, number bigint, row_hash varchar, previous_hash varchar, told_at timestamptz, phase varchar, act varchar, plan_hash varchar,
  position integer, group_number integer, kind varchar, namespace varchar, name varchar, object_uid varchar, object_version varchar,
  team varchar, pool varchar, for_uid varchar, frees_parts bigint, cause varchar, before varchar, after varchar, epoch bigint,
  actor varchar, result varchar, words varchar, intent varchar, request_id bigint, recorded_at timestamptz
);
create table deed_heads (cluster varchar, number bigint, row_hash varchar, recorded_at timestamptz);
create table requests (
  cluster varchar, request_id bigint, asked_at timestamptz, asked_by varchar, kind varchar, subject varchar, until timestamptz,
  words varchar, recorded_at timestamptz
);
create table notifications (
  cluster varchar, object_uid varchar, workload_id bigint, stage varchar, sent_at timestamptz, channel varchar, addressee varchar,
  accepted boolean, words varchar, recorded_at timestamptz
);
create table sendings (
  sending varchar, due_at timestamptz, span varchar, audience varchar, channel varchar, phase varchar, words varchar, size_bytes bigint,
  told_at timestamptz, recorded_at timestamptz
);

-- the remote door -------------------------------------------------------------------------------------------------------
-- the word that opens it is kept nowhere, only its SHA-256; teams is a JSON list, null for all
create table tokens_versions (
  token_id bigint, start_at timestamptz, end_at timestamptz, name varchar, hash varchar, teams varchar, per_minute integer, author varchar,
  revision integer, recorded_at timestamptz
);
create table sql_asked (
  asked_at timestamptz, token_id bigint, token varchar, question varchar, query_hash varchar, query varchar, parameters varchar,
  form varchar, outcome varchar, rows bigint, took_ms bigint, words varchar, recorded_at timestamptz
);
