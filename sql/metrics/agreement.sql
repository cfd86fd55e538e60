-- One row per pair of settings, a before b by name (see the view settings): how often they say the
-- same of a step, whatever the labels say. A step counts once for each repeat in which both answered.
--   n_steps                    steps that both answered
--   n_redundant_a, n_redundant_b  of these, called redundant by each
--   n_agree, agreement         of these, with the same verdict, and their share from 0 to 1
--   expected_agreement         what two coins with the same shares of redundant would agree on
--   kappa                      Cohen's: (agreement - expected) / (1 - expected), at most 1; NULL where
--                              1 is expected, as when both say the same of every step
with named as materialized (
    select setting, trajectory_id, step_index, repeat, is_redundant
    from predictions
    join settings using (strategy, strategy_digest, gold, judge)
),

counted as (
    select
        a.setting as setting_a,
        b.setting as setting_b,
        count(*) as n_steps,
        count(*) filter (a.is_redundant) as n_redundant_a,
        count(*) filter (b.is_redundant) as n_redundant_b,
        count(*) filter (a.is_redundant = b.is_redundant) as n_agree,
        -- In whole numbers, so that a perfect expectation is recognised exactly.
        n_redundant_a * n_redundant_b
            + (n_steps - n_redundant_a) * (n_steps - n_redundant_b) as n_expected_squared
    from named as a
    join named as b using (trajectory_id, step_index, repeat)
    where a.setting < b.setting
    group by a.setting, b.setting
)

select
    setting_a,
    setting_b,
    n_steps,
    n_redundant_a,
    n_redundant_b,
    n_agree,
    n_agree / n_steps as agreement,
    n_expected_squared / (n_steps * n_steps) as expected_agreement,
    (n_steps * n_agree - n_expected_squared)
        / nullif(n_steps * n_steps - n_expected_squared, 0) as kappa
from counted
