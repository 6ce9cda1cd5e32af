// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/stack/statediff"
)

// stateList is the data of the part "stack-states".
type stateList struct {
	Rows     []stateRow
	Base     string
	From, To string
	// More leads to more of them; empty if there are no more.
	More string
}

// someVersions is how many versions are listed if nobody asks for more.
const someVersions = 100

type stateRow struct {
	state.Version
	Run  *runLink
	Back *control
	// Current is true for the version that is the state now.
	Current bool
}

// stateDiff is the data of the part "stack-state-diff".
type stateDiff struct {
	*statediff.View
	FromID, ToID string
	Values       bool
	Toggle       string
}

// states shows the versions of the state, and the difference of two.
func (p pages) states(r *site.Request, t *infrav1.Terraform, page *site.Page) error {
	key := client.ObjectKeyFromObject(t)
	page.Commands = []string{"yuba state history " + key.String(), "yuba state rollback " + key.String() + " VERSION"}
	if t.KeepsOwnState() {
		add(page, "stack-note", note{Says: "This stack keeps its state in a backend of its own. Yuba stores no versions of it."})
		return nil
	}
	list, err := r.As.Content.Versions(r.Context(), key.Namespace, key.Name)
	if err != nil {
		return instead(page, "stack-states", err)
	}
	view := stateList{Base: address(key, "states"), From: r.URL.Query().Get("from"), To: r.URL.Query().Get("to")}
	shown := list.Items
	if len(shown) > someVersions && r.URL.Query().Get("all") != "yes" {
		shown, view.More = shown[:someVersions], with(view.Base, r.URL.Query(), "all", "yes")
	}
	for i, version := range shown {
		view.Rows = append(view.Rows, stateRowOf(r, t, version, list.Items[0].ID, i == 0))
	}
	if view.To == "" && len(list.Items) > 0 {
		view.To = list.Items[0].ID
	}
	if view.From == "" && len(list.Items) > 1 {
		view.From = list.Items[1].ID
	}
	if r.URL.Query().Get("from") != "" {
		if err := p.stateDiff(r, key, page, view, list); err != nil {
			return err
		}
	}
	add(page, "stack-states", view)
	return nil
}

func stateRowOf(r *site.Request, t *infrav1.Terraform, version state.Version, current string, now bool) stateRow {
	key := client.ObjectKeyFromObject(t)
	row := stateRow{Version: version, Current: now}
	if version.RunID != "" {
		row.Run = &runLink{version.RunID, address(key, "runs", version.RunID)}
	}
	if now {
		return row
	}
	confirm := fmt.Sprintf("Roll the state back to version %s of %s? The real infrastructure does not change: a fresh plan shows how it differs.", version.ID, version.Time.UTC().Format("2006-01-02 15:04"))
	if t.AppliesByItself() && !t.Spec.Suspend {
		confirm += " The stack applies plans automatically, so it then applies its program. Suspend it first if you do not want that."
	}
	b := r.Allow(site.Button{Label: "Roll back", Address: address(key, "rollback"), Confirm: confirm, Values: values("version", version.ID, "current", current)}, contentRight(t, "rollback"))
	row.Back = &control{Button: b}
	return row
}

// stateDiff compares two versions.
func (p pages) stateDiff(r *site.Request, key client.ObjectKey, page *site.Page, view stateList, list content.VersionList) error {
	for _, id := range []string{view.From, view.To} {
		if !slices.ContainsFunc(list.Items, func(v state.Version) bool { return v.ID == id }) {
			page.Parts = append(page.Parts, site.Part{ID: "stack-state-diff", View: "stack-note", Data: note{Says: "Version " + id + " is not stored any more. Choose another one below."}})
			return nil
		}
	}
	from, err := r.As.Content.State(r.Context(), key.Namespace, key.Name, view.From)
	if err != nil {
		return instead(page, "stack-state-diff", err)
	}
	to, err := r.As.Content.State(r.Context(), key.Namespace, key.Name, view.To)
	if err != nil {
		return instead(page, "stack-state-diff", err)
	}
	show := r.URL.Query().Get("values") == "yes"
	diff, err := statediff.Of(from, to, show)
	if err != nil {
		page.Parts = append(page.Parts, site.Part{ID: "stack-state-diff", View: "stack-note", Data: note{Says: "The versions cannot be compared: " + err.Error() + "."}})
		return nil
	}
	toggle := with(view.Base, r.URL.Query(), "values", "yes")
	if show {
		toggle = with(view.Base, r.URL.Query(), "values", "")
	}
	add(page, "stack-state-diff", stateDiff{diff, view.From, view.To, show, toggle})
	return nil
}
