// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/objects/rollout"
)

// Facts are all facts about a definition and its instances.
type Facts struct {
	Now time.Time
	// MaxUnavailable limits the instances on their way: a number, a share such as "10%", or empty for
	// no limit.
	MaxUnavailable string
	// Deadline is how long an instance may be on its way.
	Deadline time.Duration
	// Paused is true if the definition stops the rollout.
	Paused    bool
	Last      rollout.Last
	Instances []Instance
}

// Instance is one instance.
type Instance struct {
	Name string
	// Target is true if its object is as the target says, Unaffected if it follows the base, and base
	// and target make the same of it.
	Target, Unaffected bool
	// Ready, Failed and Waits are its state; Waits: its plan waits for approval.
	Ready, Failed, Waits bool
	// Since is when it got the last change of the definition; zero if never, or if it was not ready
	// then.
	Since time.Time
	// Broken is true if no object can be made of it with the target, Frozen if it must not change now.
	Broken, Frozen bool
}

// Decision says who has its turn, and the progress.
type Decision struct {
	rollout.Decision
	// Turns are the instances that follow the target: those that have it, and those that get it now.
	Turns map[string]bool
	// Affected counts the instances whose object the change alters.
	Affected int
	// Held is true if the definition stops the rollout.
	Held bool
}

var words = rollout.Words{One: "instance", Many: "instances", Original: "definition", NoCanary: "no instance goes first", Broken: "no object can be made of these"}

// Decide decides which instances follow the target now.
func Decide(f Facts) Decision {
	inner := rollout.Facts{Now: f.Now, MaxSkew: limit(f.MaxUnavailable, len(f.Instances)), Deadline: f.Deadline, Last: f.Last, Words: words}
	d := Decision{Turns: map[string]bool{}}
	for _, i := range f.Instances {
		if i.Target || i.Unaffected {
			d.Turns[i.Name] = true
		}
		// One that went to another revision and back is altered, too.
		if !i.Unaffected || !i.Since.IsZero() && i.Since.Unix() >= f.Last.Began.Unix() {
			d.Affected++
		}
		inner.Items = append(inner.Items, rollout.Item{Name: i.Name, Current: i.Target || i.Unaffected, Ready: i.Ready, Failed: i.Failed,
			Waits: i.Waits, Since: i.Since, Broken: i.Broken, Frozen: i.Frozen})
	}
	d.Decision = rollout.Decide(inner)
	if f.Paused && d.Phase == rollout.PhaseInProgress {
		d.Update, d.Held, d.NextCheck = nil, true, time.Time{}
		d.Message += "; spec.rollout.paused stops the others"
	}
	for _, u := range d.Update {
		d.Turns[u.Name] = true
	}
	return d
}

// limit is the number of instances that may be on their way; 0 means no limit. A share is rounded up.
func limit(text string, instances int) int {
	share, is := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(share)
	switch {
	case text == "" || err != nil || n < 0:
		return 0
	case !is:
		return n
	}
	return max(1, (instances*min(n, 100)+99)/100)
}

// CheckLimit says why a text is not a limit, or returns nil.
func CheckLimit(text string) error {
	n, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
	if text == "" || err == nil && n > 0 && (n <= 100 || !strings.HasSuffix(text, "%")) {
		return nil
	}
	return fmt.Errorf("%q is neither a positive number nor a share such as 10%%", text)
}
