-- One row per label set, judge that looks at nothing, and domain: what it would score. No run is
-- needed: a step is called redundant with the probability in rate, each by itself, and the scores are
-- exact expectations over all such verdicts, not simulated. 'all redundant' (rate 1) and 'none
-- redundant' (rate 0) leave nothing to chance. Over the trajectories that were asked about in the
-- label set, whoever was asked; where none was, over all that are annotated. A domain 'all' is the
-- unweighted mean of the domains, as in score_averages. Fractions from 0 to 1.
--   rate              for 'random, base rate': the labelled part of all their judged steps
--   step_score        mean expected f1, with the convention of step_scores for clean trajectories
--   trajectory_score  mean probability that "has a redundant step" is right
with asked as (
    select distinct label_set, trajectory_id
    from annotations
    join asked_trajectories using (trajectory_id)
),

counted as materialized (
    select
        truth.label_set,
        trajectories.domain,
        truth.trajectory_id,
        count(*) as n_steps,
        count(*) filter (truth.is_labelled) as n_labelled
    from truth
    join trajectories using (trajectory_id)
    left join asked
        on asked.label_set = truth.label_set and asked.trajectory_id = truth.trajectory_id
    where asked.trajectory_id is not null
        or truth.label_set not in (select label_set from asked)
    group by truth.label_set, trajectories.domain, truth.trajectory_id
),

rates as (
    select label_set, unnest(['all redundant', 'none redundant', 'random, 0.5']) as baseline,
        unnest([1.0, 0.0, 0.5])::double as rate
    from counted
    group by label_set
    union all
    select label_set, 'random, base rate', sum(n_labelled) / sum(n_steps)
    from counted
    group by label_set
),

-- P(k of n steps are called redundant), for each size that occurs.
sizes as (
    select label_set, n_labelled as n from counted
    union
    select label_set, n_steps - n_labelled from counted
),

chances as (
    select
        rates.label_set,
        rates.baseline,
        sizes.n,
        counts.k,
        case
            when rate = 0 then (k = 0)::integer::double
            when rate = 1 then (k = n)::integer::double
            else exp(
                lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
                + k * ln(rate) + (n - k) * ln(1 - rate)
            )
        end as chance
    from rates
    join sizes using (label_set), range(n + 1) as counts (k)
),

-- Expected 2tp / (tp + fp + labelled): tp of the labelled steps are called redundant, fp of the rest.
shapes as (
    select distinct label_set, n_labelled, n_steps - n_labelled as n_clean from counted
),

expected as (
    select
        shapes.label_set,
        hits.baseline,
        shapes.n_labelled,
        shapes.n_clean,
        sum((
            hits.chance * alarms.chance
            * case when hits.k = 0 then 0 else 2 * hits.k / (hits.k + alarms.k + n_labelled) end
        )::decimal(38, 30))::double as f1,
        sum((hits.chance * alarms.chance)::decimal(38, 30))
            filter (hits.k + alarms.k > 0)::double as any_redundant
    from shapes
    join chances as hits on hits.label_set = shapes.label_set and hits.n = shapes.n_labelled
    join chances as alarms
        on alarms.label_set = shapes.label_set
        and alarms.n = shapes.n_clean
        and alarms.baseline = hits.baseline
    group by shapes.label_set, hits.baseline, shapes.n_labelled, shapes.n_clean
),

by_domain as (
    select
        counted.label_set,
        expected.baseline,
        counted.domain,
        count(*) as n_trajectories,
        sum(n_steps)::bigint as n_steps,
        avg(f1::decimal(18, 15)) as step_score,
        avg((case when counted.n_labelled > 0 then any_redundant else 1 - any_redundant end)
            ::decimal(18, 15)) as trajectory_score
    from counted
    join expected
        on expected.label_set = counted.label_set
        and expected.n_labelled = counted.n_labelled
        and expected.n_clean = counted.n_steps - counted.n_labelled
    group by counted.label_set, expected.baseline, counted.domain
)

select label_set, baseline, domain, rate, n_trajectories, n_steps, step_score, trajectory_score
from by_domain
join rates using (label_set, baseline)
union all
select
    label_set,
    baseline,
    'all',
    any_value(rate),
    sum(n_trajectories)::bigint,
    sum(n_steps)::bigint,
    avg(step_score::decimal(18, 15)),
    avg(trajectory_score::decimal(18, 15))
from by_domain
join rates using (label_set, baseline)
group by label_set, baseline
