// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

type treePrinter struct {
	w     io.Writer
	paint func(color, text string) string
}

// treeMessage is the width of a message beside an object.
const treeMessage = 120

// show draws a node and those below it; lead precedes its own line, indent those below.
func (p *treePrinter) show(n *treeNode, lead, indent string) {
	fmt.Fprintf(p.w, "%s%s\n", lead, p.line(n))
	for i, child := range n.Children {
		if i < len(n.Children)-1 {
			p.show(child, indent+"├── ", indent+"│   ")
		} else {
			p.show(child, indent+"└── ", indent+"    ")
		}
	}
}

func (p *treePrinter) line(n *treeNode) string {
	parts := []string{diagnostic.Printable(n.String())}
	if n.Revision != "" {
		parts = append(parts, shorten.Revision(diagnostic.Printable(n.Revision)))
	}
	if n.Source != nil {
		from := "from " + n.Source.Kind + "/" + n.Source.Name
		if n.Source.Namespace != n.Namespace {
			from = "from " + n.Source.String()
		}
		if path := strings.TrimPrefix(n.Path, "./"); path != "" && path != "." && path != "/" {
			from += ", " + path
		}
		parts = append(parts, diagnostic.Printable(from))
	}
	if n.Outputs != "" {
		parts = append(parts, "outputs in Secret/"+n.Outputs)
	}
	if standing := p.standing(n); standing != "" {
		parts = append(parts, standing)
	}
	if n.Source != nil && !n.Source.good() {
		parts = append(parts, p.paint(ui.ColorRed, "its source: ")+p.standing(n.Source))
	}
	return strings.Join(parts, "  ")
}

// good reports whether an object has no problem.
func (n *treeNode) good() bool {
	return !n.Missing && !n.Suspended && (n.Ready == "" || n.Ready == string(metav1.ConditionTrue))
}

func (p *treePrinter) standing(n *treeNode) string {
	message := ""
	if n.Message != "" {
		message = ": " + ui.FirstLine(diagnostic.Printable(n.Message), treeMessage)
	}
	switch {
	case n.Missing:
		return p.paint(ui.ColorRed, "missing")
	case n.Suspended:
		return p.paint(ui.ColorYellow, "suspended")
	case n.Ready == string(metav1.ConditionTrue):
		return p.paint(ui.ColorGreen, "ready")
	case n.Ready == string(metav1.ConditionFalse):
		return p.paint(ui.ColorRed, "not ready") + message
	case n.Ready == "":
		return ""
	}
	return p.paint(ui.ColorYellow, "not yet ready") + message
}
