-- One row per label set and setting (strategy, strategy_digest, gold, judge), over all its domains.
-- Fractions from 0 to 1. A mean of domains is NULL as long as one of them has no score: the mean of
-- fewer domains would look like a better or worse judge.
--   step_score, trajectory_score  the paper's Avg: unweighted mean of the domains
--   step_score_pooled             mean f1 over all scored trajectories: large domains weigh more
--   micro_                        over all judged steps that have a prediction, together
select
    label_set,
    strategy,
    strategy_digest,
    gold,
    judge,
    count(*) as n_domains,
    sum(scores.n_expected)::bigint as n_expected,
    sum(scores.n_scored)::bigint as n_scored,
    sum(scores.n_scored) / sum(scores.n_expected) as coverage,
    sum(scores.n_decided)::bigint as n_decided,
    case when count(scores.step_score) = n_domains then favg(scores.step_score) end as step_score,
    case
        when count(scores.step_score_clean_is_one) = n_domains
        then favg(scores.step_score_clean_is_one)
    end as step_score_clean_is_one,
    favg(scores.step_score_strict) as step_score_strict,
    case
        when count(scores.trajectory_score) = n_domains then favg(scores.trajectory_score)
    end as trajectory_score,
    favg(scores.trajectory_score_strict) as trajectory_score_strict,
    fsum(scores.step_score * scores.n_scored)
        / nullif(sum(scores.n_scored), 0) as step_score_pooled,
    sum(scores.tp)::bigint as tp,
    sum(scores.fp)::bigint as fp,
    sum(scores.fn)::bigint as fn,
    sum(scores.tp) / nullif(sum(scores.tp + scores.fp), 0) as micro_precision,
    sum(scores.tp) / nullif(sum(scores.tp + scores.fn), 0) as micro_recall,
    2 * sum(scores.tp)
        / nullif(sum(2 * scores.tp + scores.fp + scores.fn), 0) as micro_f1
from scores
group by label_set, strategy, strategy_digest, gold, judge
