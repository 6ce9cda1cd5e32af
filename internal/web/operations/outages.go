// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/verbs"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/acts"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

// circuit is a circuit breaker as the page shows it.
type circuit struct {
	Name  string
	State standing.State
	// Word is its own word for its state.
	Word, Says, Sample string
	Concerns           string
	Affected           int32
	Stacks             []stackLink
	More               int
	Opened, Closed     *metav1.Time
	Probe              *metav1.Time
	Buttons            []site.Button
}

type stackLink struct{ Key, Address string }

// circuitOf says what a circuit breaker stops.
func circuitOf(o *yubav1.CircuitBreaker) circuit {
	s := &o.Status
	c := circuit{Name: o.Name, State: standing.Waiting, Word: string(s.State), Sample: s.Sample, Affected: s.Affected, Opened: s.OpenedAt, Closed: s.ClosedAt, Probe: s.NextProbeAt}
	switch {
	case s.State == yubav1.StateOpen && o.Spec.Mode != yubav1.ModeOpen:
		c.State = standing.Failed
	case s.State == yubav1.StateClosed:
		c.State, c.Probe = standing.Ready, nil
	case o.Spec.Mode == yubav1.ModeOpen:
		c.State, c.Word = standing.Suspended, "kept open"
	}
	if o.Spec.Mode == yubav1.ModeClosed {
		c.Word = "kept closed"
	}
	c.Concerns = cmp.Or(o.Spec.Provider, s.Provider, s.Host, "all stacks")
	if len(s.Namespaces) > 0 {
		c.Concerns += " in " + strings.Join(s.Namespaces, ", ")
	}
	c.Says = cmp.Or(s.Summary, s.Cause, "Not reconciled yet.")
	const named = 20
	for _, key := range s.Stacks[:min(named, len(s.Stacks))] {
		namespace, name, _ := strings.Cut(key, "/")
		c.Stacks = append(c.Stacks, stackLink{key, site.Path("stacks", namespace, name)})
	}
	c.More = max(0, int(s.Affected)-len(c.Stacks))
	return c
}

// turnings are what a person can do with a circuit breaker in a mode and a state.
func turnings(o *yubav1.CircuitBreaker) []site.Button {
	button := func(label, verb, confirm string) site.Button {
		return site.Button{Label: label, Address: site.Path("operations", "circuits", o.Name, verb), Confirm: confirm, Values: []site.Value{{Name: "mode", Value: string(o.Spec.Mode)}}}
	}
	keep := button("Keep open", "suspend", "Yuba applies no affected stack automatically, and probes none, until somebody resumes it.")
	switch {
	case o.Spec.Mode == yubav1.ModeOpen:
		return []site.Button{button("Resume", "resume", "It opens and closes by itself again, and pauses stacks only during an outage.")}
	case o.Status.State != yubav1.StateClosed:
		return []site.Button{button("Close", "resume",
			"Yuba retries the stacks that it paused, spread over some minutes, and it stays closed whatever fails, until it is deleted or its mode is Automatic."), keep}
	}
	return []site.Button{keep}
}

// modeFor is the mode that a verb leads to, as on the command line.
func modeFor(verb string, now yubav1.CircuitBreakerMode) (mode yubav1.CircuitBreakerMode, said string, ok bool) {
	switch {
	case verb == "suspend":
		return yubav1.ModeOpen, "kept open", true
	case verb == "resume" && now == yubav1.ModeOpen:
		return yubav1.ModeAutomatic, "automatic again", true
	case verb == "resume":
		return yubav1.ModeClosed, "closed", true
	}
	return "", "", false
}

// turn opens or closes a circuit breaker that has the mode that the person saw.
func turn(r *site.Request) (site.Done, error) {
	name := r.PathValue("name")
	says, err := acts.Steadily("the circuit breaker "+name, func() (string, error) {
		var o yubav1.CircuitBreaker
		if err := r.As.Objects.Get(r.Context(), types.NamespacedName{Name: name}, &o); err != nil {
			return "", err
		}
		mode, said, ok := modeFor(r.PathValue("verb"), o.Spec.Mode)
		switch {
		case !ok:
			return "", site.BadRequest("Nothing was done: a circuit breaker can be suspended or resumed.", "")
		case string(o.Spec.Mode) != r.PostFormValue("mode") || mode == yubav1.ModeClosed && o.Status.State == yubav1.StateClosed:
			return "", site.Conflict(fmt.Sprintf("Nothing was done: the circuit breaker %s has changed since you saw it.", name), "Look at it again.")
		}
		return fmt.Sprintf("The circuit breaker %s is %s.", name, said), acts.Patch(r, &o, verbs.Change{Spec: map[string]any{"mode": mode}}.If(o.ResourceVersion))
	})
	return site.Done{Says: says}, err
}

// outages is the data of the template of outages.
type outages struct {
	Circuits []circuit
	Missing  string
	Unproven []unproven
}

// unproven is a stack that an interrupted apply may have left resources of.
type unproven struct {
	stackLink
	Count int
	Run   string
}

func (p pages) outages(r *site.Request) (*site.Page, error) {
	found, err := watched.List(r, p.objects, watched.Circuits)
	if err != nil {
		return nil, err
	}
	d := outages{Missing: found.Missing}
	for _, o := range found.Items {
		c := circuitOf(o)
		for _, b := range turnings(o) {
			c.Buttons = append(c.Buttons, r.Allow(b, access.Right{Verb: "patch", Group: yubav1.GroupVersion.Group, Resource: watched.Circuits.Resource, Name: o.Name}))
		}
		d.Circuits = append(d.Circuits, c)
	}
	slices.SortStableFunc(d.Circuits, func(a, b circuit) int { return a.State.Rank() - b.State.Rank() })
	stacks, err := watched.List(r, p.objects, watched.Stacks)
	if err != nil {
		return nil, err
	}
	d.Unproven = unprovenOf(stacks.Items)
	return &site.Page{Title: "Outages", Section: Section, Trail: []site.Link{{Text: "Operations", Address: Section}},
		Commands: []string{"yuba get circuitbreakers", "yuba resume circuitbreaker NAME", "yuba suspend circuitbreaker NAME", "yuba acknowledge NAMESPACE/NAME"},
		Parts:    []site.Part{tabs(outagesPage), {ID: "ops-outages", View: "ops-outages", Data: d}}, Topics: p.objects.Topics(r.Context(), watched.Circuits, watched.Stacks)}, nil
}

// unprovenOf lists the stacks whose interrupted applies need somebody.
func unprovenOf(stacks []*infrav1.Terraform) (list []unproven) {
	for _, t := range stacks {
		u := t.Status.Unproven
		if u == nil || len(u.Runs) == 0 {
			continue
		}
		count := len(u.Resources)
		for _, r := range u.Runs {
			count += int(r.More)
		}
		list = append(list, unproven{stackLink{t.Namespace + "/" + t.Name, site.Path("stacks", t.Namespace, t.Name)}, count, u.Runs[len(u.Runs)-1].ID})
	}
	return list
}
