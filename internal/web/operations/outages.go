// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/verbs"
	"github.com/yuba-dev/yuba/internal/web/access"
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
func turnings(o *yubav1.CircuitBreaker) (list []site.Button) {
	address := func(verb string) string { return site.Path("operations", "circuits", o.Name, verb) }
	switch {
	case o.Spec.Mode == yubav1.ModeOpen:
		list = append(list, site.Button{Label: "Resume", Address: address("resume")})
	case o.Status.State != yubav1.StateClosed:
		list = append(list, site.Button{Label: "Close", Address: address("resume"),
			Confirm: "Yuba retries the stacks that it paused, spread over some minutes, and it stays closed whatever fails, until it is deleted or its mode is Automatic."},
			site.Button{Label: "Keep open", Address: address("suspend"), Confirm: "Yuba applies no affected stack automatically, and probes none, until somebody resumes it."})
	default:
		list = append(list, site.Button{Label: "Keep open", Address: address("suspend"), Confirm: "Yuba applies no affected stack automatically, and probes none, until somebody resumes it."})
	}
	return list
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

// turn opens or closes a circuit breaker.
func turn(r *site.Request) (site.Done, error) {
	var o yubav1.CircuitBreaker
	if err := r.As.Objects.Get(r.Context(), types.NamespacedName{Name: r.PathValue("name")}, &o); err != nil {
		return site.Done{}, err
	}
	mode, said, ok := modeFor(r.PathValue("verb"), o.Spec.Mode)
	if !ok {
		return site.Done{}, site.BadRequest("Nothing was done: a circuit breaker can be suspended or resumed.", "")
	}
	patch, err := json.Marshal(verbs.Change{Spec: map[string]any{"mode": mode}}.If(o.ResourceVersion))
	if err != nil {
		return site.Done{}, err
	}
	err = r.As.Objects.Patch(r.Context(), &o, client.RawPatch(types.MergePatchType, patch), client.FieldOwner("yuba-web"))
	if apierrors.IsConflict(err) {
		return site.Done{}, site.Conflict(fmt.Sprintf("Nothing was done: the circuit breaker %s has changed in this moment.", o.Name), "Look at it again.")
	}
	return site.Done{Says: fmt.Sprintf("The circuit breaker %s is %s.", o.Name, said)}, err
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
