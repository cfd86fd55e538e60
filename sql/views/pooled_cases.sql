-- The rows of case_answers, and once more those of both subsets of the later release as one label
-- set, 'human + automated'. subset: the label set that a row is from.
select *, label_set as subset
from case_answers
union all
select * replace ('human + automated' as label_set), label_set as subset
from case_answers
where label_set in ('human', 'automated')
