-- One row per model, strategy and level of the paper's Table 2, in percent as printed there.
--   recomputed_average  unweighted mean of the three domains, rounded as the paper rounds
--   difference          recomputed minus printed
--   differs             by more than the last printed digit
select
    model,
    strategy,
    level,
    printed_average,
    round((airline + retail + telecom) / 3, 2)::decimal(5, 2) as recomputed_average,
    recomputed_average - printed_average as difference,
    abs(difference) > 0.01 as differs,
    airline,
    retail,
    telecom
from (values
    ('gpt-5.4', 'one_to_one', 'trajectory', 40.00, 38.60, 50.90, 43.17),
    ('gpt-5.4', 'one_to_one', 'step', 3.41, 5.93, 12.97, 4.25),
    ('gpt-5.4', 'window_to_one', 'trajectory', 77.50, 43.18, 91.96, 70.88),
    ('gpt-5.4', 'window_to_one', 'step', 18.65, 7.94, 46.31, 15.08),
    ('gpt-5.4', 'all_to_all', 'trajectory', 77.50, 43.18, 94.64, 66.06),
    ('gpt-5.4', 'all_to_all', 'step', 21.03, 8.03, 57.31, 16.69),
    ('deepseek-v4-pro', 'one_to_one', 'trajectory', 40.00, 29.10, 66.10, 45.21),
    ('deepseek-v4-pro', 'one_to_one', 'step', 3.53, 1.66, 19.42, 8.20),
    ('deepseek-v4-pro', 'window_to_one', 'trajectory', 72.50, 45.45, 87.50, 68.48),
    ('deepseek-v4-pro', 'window_to_one', 'step', 19.31, 9.22, 46.12, 24.88),
    ('deepseek-v4-pro', 'all_to_all', 'trajectory', 72.50, 40.91, 73.21, 62.21),
    ('deepseek-v4-pro', 'all_to_all', 'step', 19.10, 5.83, 43.72, 22.88),
    ('gpt-4o', 'one_to_one', 'trajectory', 57.50, 34.10, 67.00, 52.90),
    ('gpt-4o', 'one_to_one', 'step', 9.72, 4.62, 20.18, 11.50),
    ('gpt-4o', 'window_to_one', 'trajectory', 70.00, 43.18, 81.25, 64.81),
    ('gpt-4o', 'window_to_one', 'step', 18.67, 8.07, 34.74, 20.49),
    ('gpt-4o', 'all_to_all', 'trajectory', 52.50, 34.09, 55.36, 47.32),
    ('gpt-4o', 'all_to_all', 'step', 12.54, 4.00, 23.71, 13.42)
) as printed (model, strategy, level, airline, retail, telecom, printed_average)
