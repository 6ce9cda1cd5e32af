// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package causes

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/registry/usage"
	"github.com/yuba-dev/yuba/internal/web/cause"
	"github.com/yuba-dev/yuba/internal/web/find"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/query"
	"github.com/yuba-dev/yuba/internal/web/site"
)

//go:embed views.html
var views string

// Section is the address of this section.
const Section = "/causes"

const (
	// pageRows is how many causes a page has, maxNamed how many stacks a row names.
	pageRows, maxNamed = 100, 5
	// maxProviders bounds how many providers' versions are asked for, maxVersions how many a row shows.
	maxProviders, maxVersions = 5, 4
)

// Add adds the section's page.
func Add(s *site.Site, watched client.Reader) {
	s.AddViews(views)
	p := &pages{finder: find.New(watched)}
	s.Page(Section, p.show)
}

type pages struct{ finder *find.Finder }

// table is the data of the template "causes".
type table struct {
	Rows []row
	// Failures and Drifts count stacks, Total causes.
	Failures, Drifts, Total int
	From, To                int
	Prev, Next              string
	Kinds                   []link
	// Note says what is left out.
	Note string
}

type link struct {
	Text, Address string
	Here          bool
}

// row is one cause.
type row struct {
	ID, Key          string
	Kind             cause.Kind
	Type, Attributes string
	Text, Reason     string
	Stacks, Paused   int
	Named            []site.Link
	Versions         []version
	Since            time.Time
	All, Replan      string
	provider         string
	members          []*infrav1.Terraform
}

// version is how many of a cause's stacks use a version of a provider.
type version struct {
	Text string
	N    int
}

func (p *pages) show(r *site.Request) (*site.Page, error) {
	visible, err := p.finder.Visible(r)
	if err != nil {
		return nil, err
	}
	values := r.URL.Query()
	at, err := strconv.Atoi(values.Get("page"))
	if err != nil {
		at = 1
	}
	t := arrange(visible, cause.Kind(values.Get("kind")), at)
	p.addVersions(r, &t)
	return &site.Page{Title: "Causes", Section: Section, Wide: true, Commands: []string{"yuba list -A --status-selector ready=false", "yuba get circuitbreakers"},
		Parts: []site.Part{{ID: "causes", View: "causes", Data: t}}, Topics: []live.Topic{{Kind: &infrav1.Terraform{}}}}, nil
}

// arrange groups stacks by their causes.
func arrange(visible []*infrav1.Terraform, kind cause.Kind, at int) table {
	var t table
	type problem struct {
		stack *infrav1.Terraform
		facts cause.Facts
	}
	var problems []problem
	for _, stack := range visible {
		f, ok := find.Problem(stack, find.Describe(stack, false).State)
		if !ok {
			continue
		}
		if f.Kind == cause.Drift {
			t.Drifts++
		} else {
			t.Failures++
		}
		if kind == "" || kind == f.Kind {
			problems = append(problems, problem{stack, f})
		}
	}
	slices.SortFunc(problems, func(a, b problem) int {
		return cmp.Or(strings.Compare(a.facts.Namespace, b.facts.Namespace), strings.Compare(a.facts.Name, b.facts.Name))
	})
	groups := cause.Groups(problems, func(p problem) (cause.Facts, bool) { return p.facts, true })
	t.Total = len(groups)
	t.Kinds = []link{{"All", Section, kind == ""}, {fmt.Sprintf("Failures (%d)", t.Failures), Section + "?kind=failure", kind == cause.Failure},
		{fmt.Sprintf("Drift (%d)", t.Drifts), Section + "?kind=drift", kind == cause.Drift}}
	pages := max(1, (len(groups)+pageRows-1)/pageRows)
	at = min(max(1, at), pages)
	t.From, t.To = (at-1)*pageRows, min(at*pageRows, len(groups))
	for _, g := range groups[t.From:t.To] {
		stacks := make([]*infrav1.Terraform, len(g.Stacks))
		for i, p := range g.Stacks {
			stacks[i] = p.stack
		}
		t.Rows = append(t.Rows, rowOf(g.Cause, g.Key, stacks))
	}
	t.From++
	if at > 1 {
		t.Prev = addressOf(kind, at-1)
	}
	if at < pages {
		t.Next = addressOf(kind, at+1)
	}
	return t
}

func addressOf(kind cause.Kind, page int) string {
	v := url.Values{}
	if kind != "" {
		v.Set("kind", string(kind))
	}
	v.Set("page", strconv.Itoa(page))
	return Section + "?" + v.Encode()
}

func rowOf(c cause.Cause, key string, stacks []*infrav1.Terraform) row {
	r := row{ID: "cause-" + key, Key: key, Kind: c.Kind, Type: c.Type, Attributes: c.Attributes, Text: cmp.Or(c.Text, "No reason is known"), Reason: c.Reason,
		Stacks: len(stacks), provider: c.Provider(), members: stacks}
	for i, t := range stacks {
		if i < maxNamed {
			r.Named = append(r.Named, site.Link{Text: t.Namespace + "/" + t.Name, Address: site.Path("stacks", t.Namespace, t.Name)})
		}
		if paused(t) {
			r.Paused++
		}
		if at := find.Changed(t); at.After(r.Since) {
			r.Since = at
		}
	}
	term := query.Term("cause", key)
	r.All = "/stacks?" + url.Values{"q": {term}}.Encode()
	r.Replan = "/inbox/confirm?" + url.Values{"q": {term}, "verb": {"replan"}}.Encode()
	return r
}

func paused(t *infrav1.Terraform) bool {
	return slices.ContainsFunc(t.Status.Conditions, func(c metav1.Condition) bool { return c.Type == infrav1.ConditionPaused && c.Status == "True" })
}

// addVersions adds which versions of the provider the stacks of each row use.
func (p *pages) addVersions(r *site.Request, t *table) {
	asked := map[string][]usage.User{}
	for i := range t.Rows {
		name := t.Rows[i].provider
		if name == "" {
			continue
		}
		users, known := asked[name]
		if !known {
			if len(asked) == maxProviders {
				continue
			}
			var err error
			users, err = p.finder.Users(r, "*/"+name)
			if err != nil {
				t.Note = noteOf(err)
			}
			var refused *site.Refusal
			if errors.As(err, &refused) && refused.Code == http.StatusForbidden {
				return
			}
			asked[name] = users
		}
		t.Rows[i].Versions = versionsOf(users, t.Rows[i].members)
	}
}

// noteOf says why the versions of providers are left out.
func noteOf(err error) string {
	var refused *site.Refusal
	switch {
	case errors.As(err, &refused) && refused.Code == http.StatusForbidden:
		return "Versions of providers are left out: " + refused.Hint
	case errors.As(err, &refused):
		return "Versions of providers are left out: " + refused.Says
	}
	return "Versions of providers are left out: the server cannot say now who uses which."
}

// versionsOf counts the versions that the stacks use, the most used first.
func versionsOf(users []usage.User, stacks []*infrav1.Terraform) []version {
	member := make(map[string]bool, len(stacks))
	for _, t := range stacks {
		member[t.Namespace+"/"+t.Name] = true
	}
	counts := map[string]int{}
	for _, u := range users {
		if u.Kind == usage.Provider && member[u.Namespace+"/"+u.Stack] {
			counts[strings.TrimSpace(shortSource(u.Source)+" "+u.Version)]++
		}
	}
	var all []version
	for text, n := range counts {
		all = append(all, version{text, n})
	}
	slices.SortFunc(all, func(a, b version) int { return cmp.Or(b.N-a.N, strings.Compare(a.Text, b.Text)) })
	if more := len(all) - maxVersions; more > 0 {
		all = append(all[:maxVersions:maxVersions], version{Text: fmt.Sprintf("and %d more versions", more)})
	}
	return all
}

func shortSource(source string) string {
	for _, host := range []string{"registry.opentofu.org/", "registry.terraform.io/"} {
		if short, ok := strings.CutPrefix(source, host); ok {
			return short
		}
	}
	return source
}
