-- eras: the asked spans, cut where a row begins (hours, cuts, business midnights, changed rules) and where a floor changes
create or replace temp table eras as
with
row_marks as (
  select c, unnest(range(from_ms, until_ms + 1, $hour_ms)) as t from asked_spans
  union
  select c, until_ms as t from asked_spans
  union
  select null as c, epoch_ms(cut_at) as t from cuts
  union
  select null as c, at_ms as t from midnights
  union
  select null as c, s as t from told_rules
  union
  select null as c, e as t from told_rules
),

floor_marks as (
  select s as t from told_thresholds
  union
  select e as t from told_thresholds
),

marks as (
  select x.c, m.t, true as begins_row
  from asked_spans as x
  inner join row_marks as m on coalesce(m.c, x.c) = x.c and m.t >= x.from_ms and m.t <= x.until_ms
  union all
  select x.c, f.t, false as begins_row
  from asked_spans as x
  inner join floor_marks as f on f.t > x.from_ms and f.t < x.until_ms
),

instants as (
  select c, t, bool_or(begins_row) as begins_row
  from marks
  group by c, t
),

spans as (
  select
    c,
    t as s,
    lead(t) over (partition by c order by t) as e,
    max(t) filter (where begins_row) over (partition by c order by t rows unbounded preceding) as row_s,
    min(t) filter (where begins_row) over (partition by c order by t rows between 1 following and unbounded following) as row_e
  from instants
),

rule_marks as (
  select s as t from told_rules
  union
  select e as t from told_rules
  union
  select 0 as t
)

select x.c, x.s, x.e, x.row_s, x.row_e, m.t as ruled_since
from spans as x
asof inner join rule_marks as m on m.t <= x.row_s
inner join asked_spans as a on x.c = a.c and a.from_ms <= x.s and x.e <= a.until_ms
