// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/contracts/impact"
)

// mermaidForm is the form of a graph for Mermaid, https://mermaid.js.org/syntax/flowchart.html.
const mermaidForm = "mermaid"

// NewGraphCommand is "yuba graph".
func NewGraphCommand(a *session.App) *cobra.Command {
	var everywhere bool
	cmd := &cobra.Command{
		Use:   "graph [STACK]",
		Short: "Show which stacks read from which, as a table or a picture",
		Long: `Show how the stacks of a namespace, or of all, depend on each other: through contracts, through Secrets with outputs, and
through dependsOn. With the name of a stack the command shows only what that stack leads to and comes from.

-o mermaid prints a flowchart that GitHub, GitLab and many editors draw.`,
		Example: "  yuba graph\n  yuba graph network -o mermaid\n  yuba graph -A -o json",
		Args:    ui.Arguments(0, 1), ValidArgsFunction: a.StackNames(false),
	}
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false, "show the stacks of all namespaces")
	out := ui.AddTableFlag(cmd, mermaidForm, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		var focus string
		if len(args) == 1 {
			key, err := s.Stack(cmd, args[0])
			if err != nil {
				return err
			}
			if _, err = s.Get(cmd.Context(), key); err != nil {
				return s.StackError("show the graph of", key, err)
			}
			focus = key.String()
		}
		m, all, err := readMap(cmd.Context(), s, everywhere || focus != "")
		if err != nil {
			return err
		}
		view := viewOf(m, focus)
		if !everywhere && focus == "" {
			view = view.within(s.Namespace)
		}
		if !all && (everywhere || focus != "") {
			s.News("You may list stacks of namespace %s only, so those of other namespaces are missing.", s.Namespace)
		}
		return view.print(s, out)
	})
	return cmd
}

// readMap reads the edges between all stacks, or between those of the session's namespace. Without
// the right to list all, it reads those of the namespace and returns all=false.
func readMap(ctx context.Context, s *session.Session, everywhere bool) (m *impact.Map, all bool, err error) {
	var list infrav1.TerraformList
	namespace := s.Namespace
	if everywhere {
		namespace = ""
	}
	err = s.Objects.List(ctx, &list, client.InNamespace(namespace))
	if everywhere && apierrors.IsForbidden(err) {
		return readMap(ctx, s, false)
	}
	if err != nil {
		return nil, false, fmt.Errorf("list stacks: %w", err)
	}
	return impact.Of(list.Items), everywhere, nil
}

// graphView is a graph as the command shows it, and as in -o json.
type graphView struct {
	Stacks []graphStack  `json:"stacks"`
	Edges  []impact.Edge `json:"edges"`
}

// graphStack is a stack of a graph. It is missing if others refer to it, and it does not exist.
type graphStack struct {
	Name    string `json:"name"`
	Missing bool   `json:"missing,omitempty"`
}

// viewOf selects what a stack leads to and comes from, or everything.
func viewOf(m *impact.Map, focus string) graphView {
	v := graphView{Stacks: []graphStack{}, Edges: []impact.Edge{}}
	ahead, behind := map[string]bool{focus: true}, map[string]bool{focus: true}
	for grown := focus != ""; grown; {
		before := len(ahead) + len(behind)
		for i := range m.Edges {
			if e := &m.Edges[i]; ahead[e.Producer] {
				ahead[e.Consumer] = true
			} else if behind[e.Consumer] {
				behind[e.Producer] = true
			}
		}
		grown = len(ahead)+len(behind) > before
	}
	for _, name := range m.Stacks() {
		if focus == "" || ahead[name] || behind[name] {
			v.Stacks = append(v.Stacks, graphStack{Name: name, Missing: !m.Has(name)})
		}
	}
	for i := range m.Edges {
		if e := m.Edges[i]; focus == "" || ahead[e.Producer] && ahead[e.Consumer] || behind[e.Producer] && behind[e.Consumer] {
			v.Edges = append(v.Edges, e)
		}
	}
	return v
}

// within leaves the stacks of a namespace, and those of others that they refer to.
func (v graphView) within(namespace string) graphView {
	referred := map[string]bool{}
	for i := range v.Edges {
		referred[v.Edges[i].Producer] = true
	}
	v.Stacks = slices.DeleteFunc(v.Stacks, func(s graphStack) bool {
		foreign := !strings.HasPrefix(s.Name, namespace+"/")
		return foreign && !referred[s.Name]
	})
	for i, s := range v.Stacks {
		v.Stacks[i].Missing = s.Missing && strings.HasPrefix(s.Name, namespace+"/") // others were not read
	}
	return v
}

func (v graphView) print(s *session.Session, out *ui.Output) error {
	switch {
	case out.Form == mermaidForm:
		return v.mermaid(s.Out)
	case out.Machine():
		return out.Print(s.Out, v)
	case len(v.Stacks) == 0:
		s.News("No stacks found in namespace %s.", s.Namespace)
		return nil
	case len(v.Edges) == 0:
		s.News("No stack reads from another one.")
		return nil
	}
	rows := [][]string{{"PRODUCER", "CONSUMER", "BY", "THROUGH"}}
	missing := map[string]bool{}
	for _, st := range v.Stacks {
		missing[st.Name] = st.Missing
	}
	for i := range v.Edges {
		e := &v.Edges[i]
		producer := e.Producer
		if missing[producer] {
			producer += " (missing)"
		}
		rows = append(rows, []string{producer, e.Consumer, string(e.Kind), e.Through})
	}
	return s.Table(rows, out)
}

// mermaid writes a flowchart. Names are quoted, and what Mermaid would read in them is escaped.
func (v graphView) mermaid(w io.Writer) error {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	ids := map[string]string{}
	for i, s := range v.Stacks {
		ids[s.Name] = fmt.Sprintf("s%d", i)
		label, class := s.Name, ""
		if s.Missing {
			label, class = label+" (missing)", ":::missing"
		}
		fmt.Fprintf(&b, "  %s[%s]%s\n", ids[s.Name], mermaidText(label), class)
	}
	for i := range v.Edges {
		e := &v.Edges[i]
		arrow, label := "-->", e.Through
		if e.Kind == impact.ByOrder {
			arrow, label = "-.->", string(e.Kind)
		}
		fmt.Fprintf(&b, "  %s %s|%s| %s\n", ids[e.Producer], arrow, mermaidText(label), ids[e.Consumer])
	}
	if slices.ContainsFunc(v.Stacks, func(s graphStack) bool { return s.Missing }) {
		b.WriteString("  classDef missing stroke-dasharray: 5 5\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

var mermaidEscapes = strings.NewReplacer(`#`, "#35;", `"`, "#quot;", `<`, "#lt;", `>`, "#gt;", "\n", " ")

func mermaidText(text string) string { return `"` + mermaidEscapes.Replace(text) + `"` }
