// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package moves

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// maxAddress bounds the text of an address.
const maxAddress = 4096

// key is the key of an instance as JSON; empty for none.
type key string

// call is a module call in a path, with the key of its instance.
type call struct {
	name string
	key  key
}

// Address is the address of a module, a resource or an instance.
type Address struct {
	calls []call
	// mode, kind and name are those of a resource; kind is empty for a module.
	mode, kind, name string
	key              key
}

// IsModule reports whether it is the address of a module.
func (a Address) IsModule() bool { return a.kind == "" }

// ParseAddress parses an address as tofu prints it: module.a["x"].data.kind.name[0].
func ParseAddress(text string) (a Address, err error) {
	wrong := func(why string) (Address, error) {
		return Address{}, fmt.Errorf("the address %q: %s. Write it as tofu state list does: module.NAME, TYPE.NAME or TYPE.NAME[KEY]", shorten.Cut(text, 100), why)
	}
	if len(text) > maxAddress || strings.Count(text, "[") > 100 {
		return wrong("it is too long")
	}
	traversal, diags := hclsyntax.ParseTraversalAbs([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() {
		return wrong("it is none")
	}
	words, err := wordsOf(traversal)
	if err != nil {
		return wrong(err.Error())
	}
	for len(words) > 1 && words[0].name == "module" && words[0].key == "" {
		a.calls = append(a.calls, words[1])
		words = words[2:]
	}
	a.mode = "managed"
	if len(words) > 0 && words[0] == (call{name: "data"}) {
		a.mode, words = "data", words[1:]
		if len(words) == 0 {
			return wrong("the resource is missing")
		}
	}
	switch {
	case len(words) == 0 && len(a.calls) > 0:
		a.mode = ""
		return a, nil
	case len(words) != 2 || words[0].key != "":
		return wrong("it names neither a module nor a resource")
	}
	a.kind, a.name, a.key = words[0].name, words[1].name, words[1].key
	return a, nil
}

// wordsOf are the names of a path, each with the key behind it.
func wordsOf(t hcl.Traversal) (words []call, err error) {
	for _, step := range t {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			words = append(words, call{name: s.Name})
		case hcl.TraverseAttr:
			words = append(words, call{name: s.Name})
		case hcl.TraverseIndex:
			last := len(words) - 1
			if words[last].key != "" {
				return nil, errors.New("it has two keys behind a name")
			}
			if words[last].key, err = keyOf(s.Key); err != nil {
				return nil, err
			}
		}
	}
	return words, nil
}

func keyOf(value cty.Value) (key, error) {
	switch {
	case value.Type() == cty.String:
		return jsonKey(value.AsString())
	case value.Type() == cty.Number:
		if n, accuracy := value.AsBigFloat().Int64(); accuracy == 0 && n >= 0 {
			return key(fmt.Sprint(n)), nil
		}
	}
	return "", errors.New("its key is neither a text nor a whole number")
}

// jsonKey is a text as JSON, as states have it.
func jsonKey(text string) (key, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(text)
	return key(strings.TrimSuffix(b.String(), "\n")), err
}

// normal is the key of an instance in a document, in the form of this package.
func normal(raw json.RawMessage) (key, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return jsonKey(text)
	}
	var number uint64
	if json.Unmarshal(raw, &number) != nil {
		return "", errors.New("a key is neither a text nor a whole number")
	}
	return key(fmt.Sprint(number)), nil
}

// String is the key in an address: nothing, [0] or ["x"].
func (k key) String() string {
	var text string
	switch {
	case k == "":
		return ""
	case json.Unmarshal([]byte(k), &text) == nil:
		return "[" + string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes()) + "]"
	}
	return "[" + string(k) + "]"
}

// path is the address of a module; empty for the root module.
func path(calls []call) string {
	var b strings.Builder
	for i, c := range calls {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString("module." + c.name + c.key.String())
	}
	return b.String()
}

// configured is a path without keys, as dependencies and providers have it.
func configured(calls []call) string {
	bare := slices.Clone(calls)
	for i := range bare {
		bare[i].key = ""
	}
	return path(bare)
}

// within puts an address below a module.
func within(module, rest string) string {
	if module == "" {
		return rest
	}
	return module + "." + rest
}

// String is the address as tofu prints it.
func (a Address) String() string {
	if a.IsModule() {
		return path(a.calls)
	}
	text := a.kind + "." + a.name + a.key.String()
	if a.mode == "data" {
		text = "data." + text
	}
	return within(path(a.calls), text)
}

// covers reports whether a path is that of a module, or below it. Without a key, its last call stands
// for all instances. rest is the key of that call, if it was left out.
func covers(module, calls []call) (rest key, ok bool) {
	last := len(module) - 1
	if last < 0 || len(calls) < len(module) || !slices.Equal(calls[:last], module[:last]) || calls[last].name != module[last].name {
		return "", false
	}
	if module[last].key == "" {
		return calls[last].key, true
	}
	return "", calls[last].key == module[last].key
}
