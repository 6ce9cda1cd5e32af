// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"strings"
	"time"
)

// Contracts says what the stack publishes and consumes.
type Contracts struct {
	// Bound: a plan is checked against contracts before it is applied, because the stack publishes
	// some.
	Bound bool
	// Set identifies the contracts and their consumers.
	Set string
	// Problem says why the contracts are not known. Until they are, nothing is applied.
	Problem string
	// Moved says what the pending plan read and has changed since; Changed what the last apply read
	// and has changed. Empty for nothing.
	Moved, Changed string
}

// ContractVerdict says whether the pending plan keeps the contracts of the stack.
type ContractVerdict struct {
	// Breaks: a consumer, or the contract itself, would break. A person must approve the plan.
	Breaks bool
	// Message says what breaks, whom, and how to go on.
	Message string
	// Set is the Contracts.Set that was asked.
	Set string
	// NeedsPlan: the plan was made without what the check needs.
	NeedsPlan bool
}

// checked returns the verdict about the pending plan that counts now; nil without one.
func checked(f Facts) *ContractVerdict {
	v := f.Pending.Contracts
	if v == nil || f.Contracts.Problem != "" || v.Set != f.Contracts.Set {
		return nil
	}
	return v
}

// contractsAsk reports whether the pending plan must be checked against contracts.
func contractsAsk(f Facts) bool {
	return f.Contracts.Bound && f.Contracts.Problem == "" && checked(f) == nil
}

// contractsObject reports whether contracts do not let the pending plan be applied; approved: a person
// approved it. A person may break a contract, but nothing else may.
func contractsObject(f Facts, approved bool) bool {
	if !f.Contracts.Bound && f.Contracts.Problem == "" {
		return false
	}
	v := checked(f)
	return v == nil || v.Breaks && !approved
}

// contractMessage says why a plan waits because of contracts; empty if it does not.
func contractMessage(f Facts) (reason, message string) {
	if f.Contracts.Problem != "" {
		return ReasonContractsUnknown, fmt.Sprintf("Plan %s waits: its contracts are not known: %s", f.Pending.ID, f.Contracts.Problem)
	}
	if v := checked(f); f.Contracts.Bound && v != nil && v.Breaks {
		return ReasonContractBroken, fmt.Sprintf("Plan %s waits for approval: %s\nTo apply it all the same: yuba approve %s", f.Pending.ID, v.Message, f.Stack.Call)
	}
	return "", ""
}

// contractsKnown is when contracts that are not known may be; zero for never.
func contractsKnown(f Facts) time.Time {
	if f.Contracts.Problem != "" {
		return lookAgain(f)
	}
	return time.Time{}
}

// sentence begins a message with a capital.
func sentence(message string) string {
	if message == "" {
		return ""
	}
	return strings.ToUpper(message[:1]) + message[1:]
}
