-- One row per label set and domain: setting $1 held against setting $2, as in comparisons, whichever
-- comes first by name there. $3: a label set, or NULL for all.
select
    label_set,
    domain,
    n_trajectories,
    case when $1 < $2 then step_score_a else step_score_b end as step_score_a,
    case when $1 < $2 then step_score_b else step_score_a end as step_score_b,
    case when $1 < $2 then step_score_difference else 0 - step_score_difference end
        as step_score_difference,
    case when $1 < $2 then step_score_difference_low else 0 - step_score_difference_high end
        as step_score_difference_low,
    case when $1 < $2 then step_score_difference_high else 0 - step_score_difference_low end
        as step_score_difference_high,
    n_both_right,
    case when $1 < $2 then n_only_a_right else n_only_b_right end as n_only_a_right,
    case when $1 < $2 then n_only_b_right else n_only_a_right end as n_only_b_right,
    n_neither_right,
    mcnemar_p
from comparisons
where setting_a = least($1, $2) and setting_b = greatest($1, $2)
    and ($3 is null or label_set = $3)
order by label_set, domain = 'all', domain
