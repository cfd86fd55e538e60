-- One row per label set, domain and setting (strategy, strategy_digest, gold, judge); repeats are
-- pooled, so a trajectory asked n times counts n times. All scores are fractions from 0 to 1, NULL
-- without a denominator.
--   n_expected, n_scored  trajectories asked about; those with every judged step answered
--   n_decided             those whose "has a redundant step" is known: what trajectory_score is of
--   step_score            mean f1 over the scored; _clean_is_one: see step_scores
--   trajectory_score      share of the decided that is right
--   _strict               over the expected, a missing prediction or decision being a wrong one
--   micro_                over all judged steps that have a prediction, together
select
    label_set,
    domain,
    strategy,
    strategy_digest,
    gold,
    judge,
    count(*) as n_expected,
    count(*) filter (is_scored) as n_scored,
    n_scored / n_expected as coverage,
    count(trajectory_correct) as n_decided,
    -- favg and not avg: its sum hardly depends on the order of the rows, which threads change.
    favg(f1) filter (is_scored) as step_score,
    favg(f1_clean_is_one) filter (is_scored) as step_score_clean_is_one,
    favg(f1_strict) as step_score_strict,
    count(*) filter (trajectory_correct) / nullif(n_decided, 0) as trajectory_score,
    count(*) filter (trajectory_correct) / n_expected as trajectory_score_strict,
    sum(n_judged)::bigint as n_steps,
    sum(n_predicted)::bigint as n_steps_predicted,
    sum(step_scores.tp)::bigint as tp,
    sum(step_scores.fp)::bigint as fp,
    sum(step_scores.fn)::bigint as fn,
    sum(step_scores.tp) / nullif(sum(step_scores.tp + step_scores.fp), 0) as micro_precision,
    sum(step_scores.tp) / nullif(sum(step_scores.tp + step_scores.fn), 0) as micro_recall,
    2 * sum(step_scores.tp)
        / nullif(sum(2 * step_scores.tp + step_scores.fp + step_scores.fn), 0) as micro_f1
from step_scores
group by label_set, domain, strategy, strategy_digest, gold, judge
