// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/times"
)

// TenantDecision is the decision about a tenant's objects, and its status.
type TenantDecision struct {
	// Objects are in the order of the facts.
	Objects []ObjectDecision
	// Desired is the number of wanted objects. Failed includes Conflicted.
	Desired, ReadyCount, Failed, Conflicted, Skipped int
	// Writes is true if an object must be written now.
	Writes bool

	Ready, Progressing, Conflict, Degraded Condition
	// NextCheck is when to decide again without an event.
	NextCheck time.Time
}

// Condition is a condition of a tenant.
type Condition struct {
	True            bool
	Reason, Message string
}

// tally is a decision in progress, with the parts of its messages.
type tally struct {
	TenantDecision
	failed, conflicted, skipped, waiting, unready []string
}

func (d *tally) add(o Object, od ObjectDecision) {
	d.Objects = append(d.Objects, od)
	d.NextCheck = times.Earlier(d.NextCheck, od.NextCheck)
	d.Writes = d.Writes || od.Verb.Writes()
	switch {
	case od.Ready:
		d.ReadyCount++
	case od.Verb == VerbConflict:
		d.Failed++
		d.Conflicted++
		d.conflicted = append(d.conflicted, fmt.Sprintf("%s (%s)", o.ID, od.Owner))
	case od.Verb.Fails():
		d.Failed++
		d.failed = append(d.failed, because(o.ID, od.Message))
	case od.Verb == VerbSkip:
		d.Skipped++
		d.skipped = append(d.skipped, o.ID)
	case od.Verb == VerbWait && len(od.For) > 0:
		d.waiting = append(d.waiting, fmt.Sprintf("%s (for %s)", o.ID, List(od.For)))
	default:
		d.unready = append(d.unready, o.ID)
	}
}

// conclude sets the conditions.
func (d *tally) conclude(f TenantFacts) {
	message := d.message()
	failed := d.Failed > d.Conflicted
	switch {
	case failed && d.Conflicted > 0:
		d.Ready = Condition{Reason: ReasonResourcesFailedAndConflicted, Message: message}
		d.Degraded = Condition{True: true, Reason: ReasonResourceFailuresAndConflicts, Message: message}
	case failed:
		d.Ready = Condition{Reason: ReasonResourcesFailed, Message: message}
		d.Degraded = Condition{True: true, Reason: ReasonResourceFailures, Message: message}
	case d.Conflicted > 0:
		d.Ready = Condition{Reason: ReasonResourcesConflicted, Message: message}
		d.Degraded = Condition{True: true, Reason: ReasonResourceConflicts, Message: message}
	case f.RegistryGone != "":
		d.Ready = Condition{Reason: ReasonRegistryGone, Message: fmt.Sprintf("%s; the registry %s no longer exists, so the tenant stays unchanged, whatever its row is. "+
			"Create the registry again, or delete the tenant", message, f.RegistryGone)}
	case d.ReadyCount < d.Desired:
		d.Ready = Condition{Reason: ReasonNotAllResourcesReady, Message: message}
	default:
		d.Ready = Condition{True: true, Reason: ReasonReconciled, Message: message}
	}
	if !d.Degraded.True {
		d.Degraded = Condition{Reason: ReasonHealthy, Message: "no object has failed"}
	}
	d.Conflict = Condition{Reason: ReasonNoConflict, Message: "no object has another owner"}
	if d.Conflicted > 0 {
		d.Conflict = Condition{True: true, Reason: ReasonResourceConflict, Message: "these have another owner: " + List(d.conflicted)}
	}
	d.Progressing = Condition{Reason: ReasonReconcileComplete, Message: "nothing is in progress"}
	if d.Writes || len(d.waiting)+len(d.unready) > 0 {
		d.Progressing = Condition{True: true, Reason: ReasonReconciling, Message: message}
	}
}

// message describes the state of the objects.
func (d *tally) message() string {
	if d.ReadyCount == d.Desired {
		switch d.Desired {
		case 0:
			return "the template has no objects"
		case 1:
			return "its object is ready"
		}
		return fmt.Sprintf("all %d objects are ready", d.Desired)
	}
	parts := []string{fmt.Sprintf("%d of %d objects are ready", d.ReadyCount, d.Desired)}
	for _, p := range []struct {
		what  string
		names []string
	}{
		{"failed", d.failed}, {"of other owners", d.conflicted}, {"skipped", d.skipped}, {"waiting", d.waiting}, {"not ready yet", d.unready},
	} {
		if len(p.names) > 0 {
			parts = append(parts, p.what+": "+List(p.names))
		}
	}
	return strings.Join(parts, "; ")
}

// longestBecause limits a reason beside a name; the object itself has all of it.
const longestBecause = 120

// because formats a short reason beside a name.
func because(id, message string) string {
	message, _, _ = strings.Cut(strings.TrimSpace(message), "\n")
	if message == "" {
		return id
	}
	if runes := []rune(message); len(runes) > longestBecause {
		message = string(runes[:longestBecause]) + "…"
	}
	return fmt.Sprintf("%s (%s)", id, message)
}
