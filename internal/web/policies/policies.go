// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/kit/shell"
	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

//go:embed views.html
var views string

const (
	// Section is the address of this section.
	Section      = "/policies"
	auditAddress = "/audit"
	trialPage    = "/policies/trial"
	// trialTime and trialStacks limit a trial of a page. The command has no limit.
	trialTime   = 15 * time.Second
	trialStacks = 500
)

// Add adds the section's pages.
func Add(s *site.Site, objects *watched.Objects) {
	s.AddViews(views)
	p := pages{objects}
	s.Page(Section, p.list)
	s.Page(trialPage, trial)
	s.Page(auditAddress, auditPage)
}

type pages struct{ objects *watched.Objects }

func tabs(here string) site.Part {
	return site.Part{ID: "tabs", View: "tabs", Data: pieces.Tabs(here, pieces.Tab{Text: "Policies", Address: Section}, pieces.Tab{Text: "Audit log", Address: auditAddress})}
}

// overview is the data of the templates of the list.
type overview struct {
	Policies []policy
	Missing  []string
	Verdicts []verdict
	Pager    pieces.Pager
}

func (p pages) list(r *site.Request) (*site.Page, error) {
	stacks, err := watched.List(r, p.objects, watched.Stacks)
	if err != nil {
		return nil, err
	}
	local, err := watched.List(r, p.objects, watched.Policies)
	if err != nil {
		return nil, err
	}
	everywhere, err := watched.List(r, p.objects, watched.ClusterPolicies)
	if err != nil {
		return nil, err
	}
	var d overview
	for _, o := range everywhere.Items {
		d.Policies = append(d.Policies, clusterPolicyOf(o, stacks.Items, r.Now))
	}
	for _, o := range local.Items {
		d.Policies = append(d.Policies, policyOf(o, stacks.Items, r.Now))
	}
	for _, why := range []string{everywhere.Missing, local.Missing} {
		if why != "" {
			d.Missing = append(d.Missing, why)
		}
	}
	d.Verdicts, d.Pager = pieces.Cut(verdictsOf(stacks.Items), r.URL)
	return &site.Page{Title: "Policies", Section: Section, Wide: true, Commands: []string{"yuba policy list -A", "yuba policy explain NAMESPACE/NAME", "yuba policy try FILE"},
		Parts:  []site.Part{tabs(Section), {ID: "policies", View: "policies", Data: d}, {ID: "verdicts", View: "policies-verdicts", Data: d}},
		Topics: p.objects.Topics(r.Context(), watched.Policies, watched.ClusterPolicies, watched.Stacks)}, nil
}

// trialData is the data of the template of a trial.
type trialData struct {
	Rows   []tried
	Pager  pieces.Pager
	Passed int
	// Cut says why the trial ended before all stacks were judged; empty if it did not.
	Cut string
	Why string
}

type tried struct {
	content.TriedStack
	Address string
}

var errEnough = errors.New("enough")

// trialCommands are the commands that do the same. A ClusterPolicy has no namespace.
func trialCommands(kind string, key types.NamespacedName) []string {
	words := []string{"yuba", "kubectl", "get", kind, key.Name}
	if key.Namespace != "" {
		words = append(words, "-n", key.Namespace)
	}
	return []string{shell.Line(append(words, "-o", "yaml")...) + " > policy.yaml", "yuba policy try policy.yaml"}
}

// trial judges the last plans by a policy as it is now, and changes nothing.
func trial(r *site.Request) (*site.Page, error) {
	q := r.URL.Query()
	kind, key := q.Get("kind"), types.NamespacedName{Namespace: q.Get("namespace"), Name: q.Get("name")}
	var o client.Object = &yubav1.Policy{}
	switch {
	case kind == "ClusterPolicy":
		o, key.Namespace = &yubav1.ClusterPolicy{}, ""
	case kind != "Policy":
		return nil, site.BadRequest("There is no kind of policies called "+kind+".", "")
	}
	if err := r.As.Objects.Get(r.Context(), key, o); err != nil {
		return nil, err
	}
	o.GetObjectKind().SetGroupVersionKind(yubav1.GroupVersion.WithKind(kind))
	o.SetManagedFields(nil)
	text, err := yaml.Marshal(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), trialTime)
	defer cancel()
	var d trialData
	var rows []tried
	err = r.As.Content.TryPolicy(ctx, key.Namespace, text, func(part content.PolicyTrial) error {
		d.Passed += part.Passed
		for _, s := range part.Items {
			rows = append(rows, tried{s, site.Path("stacks", s.Namespace, s.Name)})
		}
		if len(rows) >= trialStacks {
			return errEnough
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
		d.Cut = fmt.Sprintf("The trial is incomplete: a page shows at most %d stacks. The command has no limit.", trialStacks)
	case errors.Is(err, context.DeadlineExceeded):
		d.Cut = "The trial took too long and is incomplete. The command has no limit."
	default:
		d.Why = pieces.Why(err)
	}
	d.Rows, d.Pager = pieces.Cut(rows, r.URL)
	return &site.Page{Title: "Trial of " + kind + " " + key.Name, Section: Section, Trail: []site.Link{{Text: "Policies", Address: Section}}, Wide: true,
		Commands: trialCommands(kind, key),
		Parts:    []site.Part{{ID: "trial", View: "policies-trial", Data: d}}}, nil
}
