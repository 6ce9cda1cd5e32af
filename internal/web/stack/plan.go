// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/shell"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/verbs"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/stack/plandiff"
)

// planHead is the data of the part "stack-plan-head".
type planHead struct {
	State, Says string
	ID          string
	Run, Apply  *runLink
	Made        any
	Revision    string
	Notices     []string
	Controls    []control
	Forms       []tabLink
	Text        string
}

type runLink struct{ ID, Address string }

// planView is the data of the part "stack-plan".
type planView struct {
	*plandiff.View
	Find, Kind, Run string
	Full            bool
	Base            string
	Kinds           []kindLink
	Toggle          string
	Previous, Next  string
	// Whole leads from one resource back to all. Download has everything.
	Whole, Download string
}

type kindLink struct {
	plandiff.Kind
	Address string
	Here    bool
}

// plan shows the pending plan, the last one, or that of a run.
func (p pages) plan(r *site.Request, t *infrav1.Terraform, page *site.Page) error {
	key, query := client.ObjectKeyFromObject(t), r.URL.Query()
	id := query.Get("run")
	pending := id == "" || id == t.Status.Plan.RunID
	page.Commands = []string{"yuba plan " + key.String()}
	if !pending {
		page.Title, page.Commands = "Plan of run "+id, []string{shell.Line("yuba", "plan", key.String(), "--run", id)}
	} else {
		id = t.Status.Plan.RunID
	}
	document, err := r.As.Content.Plan(r.Context(), key.Namespace, key.Name, id)
	if apierrors.IsNotFound(err) {
		return p.noPlan(r, t, page, id, err)
	}
	if err != nil {
		return instead(page, "stack-plan", err)
	}
	shown, err := plan.DecodeOutline(document)
	if err != nil {
		return err
	}
	h := planHeadOf(t, shown.Standing)
	h.Forms = planForms(key, query)
	if pending && t.Status.Plan.Pending != "" {
		for _, c := range controls(r, t) {
			if c.Address == address(key, "approve") || c.Address == address(key, "reject") {
				h.Controls = append(h.Controls, c)
			}
		}
		page.Commands = append(page.Commands, shell.Line("yuba", "approve", key.String(), t.Status.Plan.Pending), shell.Line("yuba", "reject", key.String(), t.Status.Plan.Pending))
	}
	add(page, "stack-plan-head", h)
	if v := verdictsOf(t); v != nil && pending {
		add(page, "stack-verdicts", v)
	}
	if query.Get("as") == "text" {
		text, cut, err := plandiff.Text(shown)
		add(page, "stack-plan-text", planText{text, cut, address(key, "plan.txt") + "?" + url.Values{"run": {id}}.Encode()})
		return err
	}
	view, err := planViewOf(shown, key, query)
	add(page, "stack-plan", view)
	return err
}

type planText struct {
	Text    string
	Cut     bool
	Address string
}

func planViewOf(shown *plan.Outline, key client.ObjectKey, query url.Values) (*planView, error) {
	number, _ := strconv.Atoi(query.Get("page")) //nolint:errcheck // anything else is the first page
	o := plandiff.Options{Find: query.Get("q"), Kind: query.Get("kind"), All: query.Get("all") == "yes", Page: number, Only: query.Get("only")}
	base := address(key, "plan")
	view, err := plandiff.Of(shown, o)
	if err != nil {
		return nil, err
	}
	v := &planView{View: view, Find: o.Find, Kind: o.Kind, Run: query.Get("run"), Full: o.All, Base: base, Download: downloadOf(key, query)}
	for _, k := range v.View.Kinds {
		link := kindLink{Kind: k, Here: k.Name == o.Kind, Address: with(base, query, "kind", k.Name, "page", "", "only", "")}
		if link.Here {
			link.Address = with(base, query, "kind", "", "page", "")
		}
		v.Kinds = append(v.Kinds, link)
	}
	v.Toggle = with(base, query, "all", "yes")
	if o.All {
		v.Toggle = with(base, query, "all", "")
	}
	if o.Only != "" {
		v.Whole = with(base, query, "only", "") + "#c-" + url.PathEscape(o.Only)
	}
	if v.Page > 1 {
		v.Previous = with(base, query, "page", strconv.Itoa(v.Page-1))
	}
	if v.Page < v.Pages {
		v.Next = with(base, query, "page", strconv.Itoa(v.Page+1))
	}
	return v, nil
}

// Only is the address of one resource of the plan, which is shown whole.
func (v *planView) Only(id string) string {
	query := url.Values{"only": {id}}
	if v.Run != "" {
		query.Set("run", v.Run)
	}
	if v.Full {
		query.Set("all", "yes")
	}
	return v.Base + "?" + query.Encode()
}

// with is an address with a query in which some values are others; empty ones are left out.
func with(base string, query url.Values, pairs ...string) string {
	next := url.Values{}
	for name, values := range query {
		if name != "marks" {
			next[name] = values
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		next.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" {
			next.Del(pairs[i])
		}
	}
	if len(next) == 0 {
		return base
	}
	return base + "?" + next.Encode()
}

// More is where one resource is shown whole; empty where it is already.
func (v *planView) More(r plandiff.Row) string {
	if v.Whole != "" {
		return ""
	}
	return v.Only(r.ID)
}

func downloadOf(key client.ObjectKey, query url.Values) string {
	return with(address(key, "plan.txt"), url.Values{}, "run", query.Get("run"))
}

func planForms(key client.ObjectKey, query url.Values) []tabLink {
	text := query.Get("as") == "text"
	return []tabLink{{"Resource by resource", with(address(key, "plan"), query, "as", ""), !text}, {"As text", with(address(key, "plan"), query, "as", "text"), text}, {"Download", downloadOf(key, query), false}}
}

// planHeadOf says which plan this is, and how it stands.
func planHeadOf(t *infrav1.Terraform, s *plan.Standing) planHead {
	if s == nil {
		return planHead{Says: "Nothing is known about this plan but what it changes."}
	}
	key := client.ObjectKeyFromObject(t)
	h := planHead{State: string(s.State), ID: s.ID, Made: s.Made, Revision: s.Revision, Notices: s.Notices}
	if s.Run != "" {
		h.Run = &runLink{s.Run, address(key, "runs", s.Run)}
	}
	if s.ApplyRun != "" {
		h.Apply = &runLink{s.ApplyRun, address(key, "runs", s.ApplyRun)}
	}
	switch s.State {
	case plan.StatePending:
		h.Says = "This plan " + verbs.PendingIs(t) + "."
	case plan.StateApproved:
		h.Says = "This plan is approved and not applied yet."
	case plan.StateRejected:
		h.Says = "A person has rejected this plan."
	case plan.StateApplied:
		h.Says = "This plan was applied."
	case plan.StateApplyFailed:
		h.Says = "This plan was applied in part: its apply did not succeed."
	case plan.StateRefused:
		h.Says = "A review refused this plan."
	case plan.StateUnchanged:
		h.Says = "This run found no changes."
	default:
		h.Says = "This plan was never applied, and another one has taken its place."
	}
	return h
}

// noPlan says why there is no plan, and what became of the one that was asked for.
func (p pages) noPlan(r *site.Request, t *infrav1.Terraform, page *site.Page, id string, err error) error {
	key := client.ObjectKeyFromObject(t)
	if r.URL.Query().Get("run") != "" {
		page.Code = http.StatusNotFound
		trace := trace{Says: messageOf(err) + "."}
		readTrace(r, key, id, &trace)
		add(page, "stack-trace", trace)
		return nil
	}
	n := note{Says: messageOf(err) + ".", Commands: []string{"yuba replan " + key.String()}}
	switch last := t.Status.LastRun; {
	case t.Status.CurrentRun != nil:
		n.Says = fmt.Sprintf("There is no plan yet: run %s is %s.", t.Status.CurrentRun.ID, t.Status.CurrentRun.Status)
	case last == nil:
		n.Says = "There is no plan yet: the stack has not run."
	case t.AppliesByItself():
		n.Says = "Yuba keeps the plans that wait for approval, and this stack applies its plans automatically. The log of each run says what was planned and applied."
	}
	page.Parts = append(page.Parts, site.Part{ID: "stack-plan", View: "stack-note", Data: n})
	return nil
}

func messageOf(err error) string {
	if status, ok := err.(apierrors.APIStatus); ok { //nolint:errorlint // the client returns it as it is
		return status.Status().Message
	}
	return err.Error()
}

// planText serves a plan as text.
func (p pages) planText(w http.ResponseWriter, r *site.Request) error {
	key := keyOf(r)
	document, err := r.As.Content.Plan(r.Context(), key.Namespace, key.Name, r.URL.Query().Get("run"))
	if err != nil {
		return err
	}
	shown, err := plan.Decode(document)
	if err != nil {
		return err
	}
	download(w, key.Name+"-plan.txt", "text/plain; charset=utf-8")
	_, err = w.Write([]byte(plan.Render(shown, plan.RenderOptions{})))
	return nothingToSay(err)
}

// serve serves what is not a page.
func (p pages) serve(do func(p pages, w http.ResponseWriter, r *site.Request) error) func(http.ResponseWriter, *site.Request) error {
	return func(w http.ResponseWriter, r *site.Request) error { return do(p, w, r) }
}

// download makes a browser store the response, whatever is in it.
func download(w http.ResponseWriter, name, kind string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", "attachment; filename="+strconv.Quote(name))
	w.Header().Set("Cache-Control", "no-store")
}

// nothingToSay drops the error of a write: the browser is gone.
func nothingToSay(error) error { return nil }
