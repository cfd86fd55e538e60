-- One row per strategy and level of the paper's Table 3 (gpt-4o, airline): without and with the
-- ground-truth actions, in percent as printed there. difference = with minus without.
--   table2   what Table 2 prints for the same run without ground truth
--   differs  the two tables disagree about it
select
    'gpt-4o' as model,
    'airline' as domain,
    strategy,
    printed.level,
    without_gold,
    with_gold,
    with_gold - without_gold as difference,
    published.airline as table2,
    without_gold <> table2 as differs
from (values
    ('one_to_one', 'trajectory', 57.50, 70.00),
    ('one_to_one', 'step', 9.72, 22.92),
    ('window_to_one', 'trajectory', 70.00, 72.50),
    ('window_to_one', 'step', 18.67, 20.92),
    ('all_to_all', 'trajectory', 52.55, 67.50),
    ('all_to_all', 'step', 12.54, 24.37)
) as printed (strategy, level, without_gold, with_gold)
join published using (strategy, level)
where published.model = 'gpt-4o'
