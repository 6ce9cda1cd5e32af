// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package diagram

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFlow(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a link":               {"a --> b", "a to b"},
		"links in a row":       {"a --> b --> c", "a to b; b to c"},
		"several nodes":        {"a & b --> c & d", "a to c; a to d; b to c; b to d"},
		"a text":               {`a -- "x<br/>y" --> b`, "a to b: x y"},
		"a text between bars":  {`a -->|"x"| b`, "a to b: x"},
		"a dotted link":        {`a -. "x" .-> b`, "a to b: x"},
		"a thick link":         {`a == x ==> b`, "a to b: x"},
		"shapes":               {`a["A (1)"] --> b[("B")] --> c{C?} --> d{{D}} --> e[/"/e"/] --> f(F) --> g([G])`, "A (1) to B; B to C?; C? to D; D to /e; /e to F; F to G"},
		"a name that comes on": {"a --> b\nb[B]", "a to B"},
		"a subgraph":           {"subgraph s[\"S\"]\na\nend\na --> b", "a to b"},
	} {
		g, err := parseFlow(strings.Split(c.text, "\n"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, g.says()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWhatIsNotUnderstoodIsAnError(t *testing.T) {
	for _, text := range []string{"", "pie", "flowchart LR", "flowchart LR\na --> ", "flowchart LR\na ~~~ b", "flowchart LR\na[b", "flowchart LR\na -->|b c",
		"stateDiagram-v2\na -> b", "sequenceDiagram", "sequenceDiagram\nNote over A: b", "sequenceDiagram\nloop x\nA->>B: c", "sequenceDiagram\nend"} {
		if got, err := SVG(text); err == nil {
			t.Errorf("%q is drawn: %s", text, got)
		}
	}
}

// drawings are diagrams that are hard to place.
var drawings = map[string]string{
	"a circle":       "flowchart LR\na --> b -- back --> a\nb --> c\nc -- far --> a",
	"two links":      "flowchart TD\na -- one --> b\na -- two --> b\na -. three .-> b",
	"a link to self": "flowchart TD\na --> a\na --> b",
	"a fan":          "flowchart LR\na --> b & c & d & e & f\nb & c & d --> g\na -- long text on this link --> g",
	"captions":       "flowchart LR\nsubgraph x[\"A caption that is wide\"]\na\nend\na --> b",
	"states":         "stateDiagram-v2\n[*] --> A: begin\nA --> B: go\nB --> A\nB --> [*]",
	"a sequence":     "sequenceDiagram\nparticipant A as one <name>\nA->>B: hello & goodbye\nloop often\nB-->>A: x\nB->>B: itself, with a long text\nend",
	"markup":         "flowchart LR\na[\"<script>alert(1)</script>\"] -- \"&lt;\" --> b",
}

// A picture is well formed, has no markup from its text, and is the same each time.
func TestSVG(t *testing.T) {
	for name, text := range drawings {
		got, err := SVG(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if again, _ := SVG(text); again != got {
			t.Errorf("%s: two pictures", name)
		}
		for d := xml.NewDecoder(strings.NewReader(got)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v in %s", name, err, got)
				break
			}
			element, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			if element.Name.Local == "script" {
				t.Errorf("%s: a script", name)
			}
			for _, a := range element.Attr {
				if a.Name.Local == "style" || strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s: %s=%q", name, a.Name.Local, a.Value)
				}
			}
		}
	}
}

// Nodes and labels do not cover each other.
func TestNothingIsCovered(t *testing.T) {
	for name, text := range drawings {
		lines := strings.Split(text, "\n")
		parse := parseFlow
		if strings.HasPrefix(text, "state") {
			parse = parseStates
		}
		if strings.HasPrefix(text, "sequence") {
			continue
		}
		g, err := parse(lines[1:])
		if err != nil {
			t.Fatal(err)
		}
		g.draw(false)
		var boxes []*box
		for _, n := range g.nodes {
			boxes = append(boxes, &n.box)
		}
		for _, e := range g.edges {
			boxes = append(boxes, e.via...)
		}
		for i, a := range boxes {
			for _, b := range boxes[:i] {
				if math.Abs(a.main-b.main) < (a.long+b.long)/2-0.01 && math.Abs(a.cross-b.cross) < (a.wide+b.wide)/2-0.01 {
					t.Errorf("%s: %+v covers %+v", name, *a, *b)
				}
			}
		}
	}
}
