// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide says what the policies of a stack make of one plan: it is applied, it waits for
// people, or it is refused.
//
// [Decide] is a pure function: [Facts] in, one [Decision] out. Its caller selects the policies that
// concern the stack, evaluates their rules, and records the decision.
//
// # Terms
//
//   - A policy has rules; each has been evaluated to findings, or has failed.
//   - A finding that no exemption covers is a violation. The effect of the rule, or else of its
//     policy, says what follows: deny refuses, requireApproval waits for its approvals, warn waits
//     for anybody who may approve.
//   - A policy with autoApprove frees plans in which it finds no violation.
//   - A policy in audit mode is evaluated and recorded, and changes nothing.
//   - What a decision is about is [Bound]: digests of everything that was judged. Approvals name its
//     hash.
//
// # Laws
//
// These hold for all facts (tested with random facts):
//
//   - Nothing that a rule denies is applied, whoever approves.
//   - A policy in audit mode never changes the outcome.
//   - Adding a policy never frees a plan that was refused, or that violations hold; only a policy with
//     autoApprove frees a plan that merely nobody had freed.
//   - Removing an exemption, or its expiry, never frees.
//   - A rule or policy that failed refuses to free: the plan waits for people, or is refused if its
//     effect is deny.
//   - An approval counts only for the very facts that it names, once for each person, and never from
//     the author of the commit where that is asked.
//   - The same facts have the same decision, in whatever order the policies are.
//   - A decision that time alone can change says when.
package decide
