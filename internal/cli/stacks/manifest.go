// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/home/datadir"
)

// approveInFile writes the approval of a plan into the stack's manifest, and reports whether the
// file changed. Only that value changes: comments, order and layout stay.
func approveInFile(path string, key types.NamespacedName, id string) (bool, error) {
	// Replace the target of a link, not the link.
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false, err
	}
	info, err := os.Stat(target)
	if err != nil {
		return false, err
	}
	before, err := os.ReadFile(target)
	if err != nil {
		return false, err
	}
	after, err := approveInManifest(before, key, id)
	if err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	if bytes.Equal(before, after) {
		return false, nil
	}
	return true, datadir.WriteFile(target, after, info.Mode().Perm())
}

// errByHand is for manifests that only a person should edit.
var errByHand = errors.New("this command cannot edit spec.approvePlan in this notation; set it to the plan's id manually")

// approveInManifest returns the file with spec.approvePlan of the stack set to a plan's id.
func approveInManifest(file []byte, key types.NamespacedName, id string) ([]byte, error) {
	documents, err := parseManifests(file)
	if err != nil {
		return nil, err
	}
	found := -1
	for i, document := range documents {
		if !isStack(document, key) {
			continue
		}
		if found >= 0 {
			return nil, fmt.Errorf("it contains the stack %s more than once", key)
		}
		found = i
	}
	if found < 0 {
		return nil, ui.Exitf(ui.ExitNotFound, "it has no Terraform %s in the namespace %s", key.Name, key.Namespace)
	}
	edited, err := setApproval(file, documents[found], id)
	if err != nil {
		return nil, err
	}
	if !onlyApproval(edited, documents, found, id) {
		return nil, errByHand
	}
	return edited, nil
}

func parseManifests(file []byte) ([]*yaml.Node, error) {
	var documents []*yaml.Node
	for decoder := yaml.NewDecoder(bytes.NewReader(file)); ; {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, fmt.Errorf("it is not YAML: %w", err)
		}
		if len(document.Content) == 1 {
			documents = append(documents, document.Content[0])
		}
	}
}

// isStack reports whether a document is the stack's manifest. It may omit the namespace.
func isStack(document *yaml.Node, key types.NamespacedName) bool {
	var m struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct{ Name, Namespace string }
	}
	if document.Decode(&m) != nil {
		return false
	}
	group, _, _ := strings.Cut(m.APIVersion, "/")
	return group == infrav1.GroupVersion.Group && m.Kind == session.StackKind.Kind && m.Metadata.Name == key.Name &&
		(m.Metadata.Namespace == "" || m.Metadata.Namespace == key.Namespace)
}

// setApproval changes or inserts the bytes of spec.approvePlan.
func setApproval(file []byte, document *yaml.Node, id string) ([]byte, error) {
	specKey, spec := fieldOf(document, "spec")
	if spec == nil || spec.Kind != yaml.MappingNode {
		return nil, errByHand
	}
	name, value := fieldOf(spec, "approvePlan")
	switch {
	case value == nil && spec.Style&yaml.FlowStyle != 0:
		text := "approvePlan: " + quoted(id)
		if len(spec.Content) > 0 {
			text += ", "
		}
		at := offset(file, spec.Line, spec.Column)
		return splice(file, at+1, at+1, text)
	case value == nil:
		// Directly below "spec:", so that a comment above the first field stays there.
		first := spec.Content[0]
		start := offset(file, first.Line, 1)
		indent := file[start:offset(file, first.Line, first.Column)]
		at := offset(file, specKey.Line+1, 1)
		return splice(file, at, at, string(indent)+"approvePlan: "+quoted(id)+lineEnd(file))
	case value.Kind != yaml.ScalarNode || value.Anchor != "" || value.Style&(yaml.TaggedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return nil, errByHand
	case value.Value == "" && value.Style == 0:
		at := offset(file, name.Line, name.Column) + len(name.Value) + len(":")
		return splice(file, at, at, " "+quoted(id))
	}
	at := offset(file, value.Line, value.Column)
	if at >= len(file) {
		return nil, errByHand
	}
	switch value.Style {
	case yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle:
		length := bytes.IndexByte(file[min(at+1, len(file)):], file[at])
		return splice(file, at, at+length+2, quoted(id))
	}
	text := id
	if !plainID.MatchString(id) {
		text = quoted(id)
	}
	return splice(file, at, at+len(value.Value), text)
}

// plainID matches ids that need no quotes.
var plainID = regexp.MustCompile(`^plan-[A-Za-z0-9./_-]+$`)

func quoted(id string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(id) + `"`
}

func splice(file []byte, from, to int, text string) ([]byte, error) {
	if from < 0 || to < from || to > len(file) {
		return nil, errByHand
	}
	return bytes.Join([][]byte{file[:from], []byte(text), file[to:]}, nil), nil
}

func fieldOf(mapping *yaml.Node, field string) (name, value *yaml.Node) {
	if mapping.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == field {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

// offset is the index of a line's column; both count from 1, columns in characters.
func offset(file []byte, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		end := bytes.IndexByte(file[at:], '\n')
		if end < 0 {
			return len(file)
		}
		at += end + 1
	}
	for ; column > 1 && at < len(file); column-- {
		_, size := utf8.DecodeRune(file[at:])
		at += size
	}
	return at
}

func lineEnd(file []byte) string {
	if bytes.Contains(file, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// onlyApproval reports whether the edited file differs from the documents only by the approval,
// however the manifest is written.
func onlyApproval(edited []byte, documents []*yaml.Node, changed int, id string) bool {
	after, err := parseManifests(edited)
	if err != nil || len(after) != len(documents) {
		return false
	}
	for i := range documents {
		var want, got any
		if documents[i].Decode(&want) != nil || after[i].Decode(&got) != nil {
			return false
		}
		if i == changed {
			object, ok := want.(map[string]any)
			if !ok {
				return false
			}
			spec, ok := object["spec"].(map[string]any)
			if !ok {
				return false
			}
			spec["approvePlan"] = id
		}
		if !reflect.DeepEqual(want, got) {
			return false
		}
	}
	return true
}
