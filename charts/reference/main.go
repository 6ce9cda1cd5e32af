// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command reference writes the reference of the chart's values, as one page of Markdown.
//
//	go run ./charts/reference charts/yuba/values.yaml PAGE
//
// The page consists of the comments in values.yaml: "# -- TEXT" above a value describes it, and
// "# @section TITLE" begins a section.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("want two arguments, the values of the chart and the page to write")
	}
	values, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	page, err := render(values)
	if err != nil {
		return err
	}
	return os.WriteFile(args[1], []byte(page), 0o644) //nolint:gosec // public text
}

const intro = `# Values of the Helm chart

<!-- Written by charts/reference from charts/yuba/values.yaml. To change it, change that and run "make generate". -->

All values of the chart ` + "`charts/yuba`" + `, with their defaults. [Install in a cluster](../how-to/install-in-a-cluster.md) describes the
installation. The schema of the chart refuses other values. It also accepts the values of tofu-controller's chart that have no
effect with Yuba; the notes of an installation list those.
`

// render makes the page from values.yaml.
func render(values []byte) (string, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(values, &document); err != nil {
		return "", fmt.Errorf("read the values: %w", err)
	}
	var page strings.Builder
	page.WriteString(intro)
	err := writeValues(&page, "", document.Content[0])
	return page.String(), err
}

// writeValues writes the rows of a map's values. Inner maps without a description have rows for
// their own values.
func writeValues(page *strings.Builder, path string, m *yaml.Node) error {
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		section, text := comment(key)
		if section != "" {
			fmt.Fprintf(page, "\n## %s\n\n| value | default | meaning |\n|---|---|---|\n", section)
		}
		name := path + key.Value
		described := text != ""
		if described {
			preset, err := presetOf(value)
			if err != nil {
				return fmt.Errorf("write the default of %s: %w", name, err)
			}
			fmt.Fprintf(page, "| `%s` | %s | %s |\n", name, preset, strings.ReplaceAll(text, "|", `\|`))
		}
		if value.Kind == yaml.MappingNode && !described && len(value.Content) > 0 {
			if err := writeValues(page, name+".", value); err != nil {
				return err
			}
		} else if !described {
			return fmt.Errorf(`value %s has no comment "# -- TEXT"`, name)
		}
	}
	return nil
}

// comment splits the comment above a value.
func comment(key *yaml.Node) (section, text string) {
	for line := range strings.SplitSeq(key.HeadComment, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(line, "#"))
		if title, ok := strings.CutPrefix(line, "@section "); ok {
			section = title
		}
		if about, ok := strings.CutPrefix(line, "-- "); ok {
			text = about
		}
	}
	return section, text
}

// presetOf writes a default on one line.
func presetOf(value *yaml.Node) (string, error) {
	inline := *value
	flow(&inline)
	text, err := yaml.Marshal(&inline)
	if err != nil {
		return "", err
	}
	line := strings.Join(strings.Fields(string(text)), " ")
	if line == `""` || line == "" {
		return "", nil
	}
	return "`" + line + "`", nil
}

// flow puts lists and maps on one line, without their comments.
func flow(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	if n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode {
		n.Style = yaml.FlowStyle
	}
	for _, inner := range n.Content {
		flow(inner)
	}
}
