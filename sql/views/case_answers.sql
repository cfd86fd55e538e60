-- One row per case, setting (strategy, strategy_digest, gold, judge) and repeat that asked about its
-- trajectory in the answer form 'kind' or 'evidence': what the annotators say and what the judge says.
--   said_kind, said_evidence     NULL without a readable answer
--   is_answered                  there is one
--   is_kind_right                false without one
--   is_evidence_right            the complete evidence, pairs in any order; false without an answer
with asked as (
    select distinct trajectory_id, strategy, strategy_digest, gold, judge, repeat, answer
    from requests
    where answer in ('kind', 'evidence')
)
select
    cases.label_set,
    asked.strategy,
    asked.strategy_digest,
    asked.gold,
    asked.judge,
    asked.repeat,
    asked.answer,
    asked.trajectory_id,
    cases.domain,
    cases.step_index,
    cases.kind,
    cases.evidence,
    cases.is_synthetic,
    findings.kind as said_kind,
    findings.evidence as said_evidence,
    findings.slot is not null as is_answered,
    coalesce(findings.kind = cases.kind, false) as is_kind_right,
    coalesce(findings.evidence = cases.evidence, false) as is_evidence_right
from asked
join cases using (trajectory_id)
left join findings
    on findings.trajectory_id = asked.trajectory_id
    and findings.strategy = asked.strategy
    and findings.strategy_digest = asked.strategy_digest
    and findings.gold = asked.gold
    and findings.judge = asked.judge
    and findings.repeat = asked.repeat
    and findings.answer = asked.answer
    and findings.target = cases.step_index
    -- A step may be a case twice, with the evidence of two label sets, and be asked about twice.
    and (findings.shown is null or findings.shown = cases.evidence)
