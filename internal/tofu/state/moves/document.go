// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package moves

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// document is a state.
type document struct {
	fields    map[string]json.RawMessage
	resources []*resource
	// index has the resources by their addresses.
	index   map[string]*resource
	changed bool
}

// resource is an entry of a state: the instances of one resource in one instance of its module.
type resource struct {
	raw              map[string]json.RawMessage
	calls            []call
	mode, kind, name string
	instances        []*instance
}

// instance is an object of a state, a deposed one included.
type instance struct {
	raw map[string]json.RawMessage
	key key
	// home is where it was before all steps: what its dependencies say is about that state.
	home site
}

var errFormat = errors.New("it is not a state of format version 4")

// parse parses a state. Errors quote nothing of it.
func parse(name string, data []byte) (*document, error) {
	d := &document{index: map[string]*resource{}}
	if json.Unmarshal(data, &d.fields) != nil || string(d.fields["version"]) != "4" {
		return nil, errFormat
	}
	if _, encrypted := d.fields["encrypted_data"]; encrypted {
		return nil, errors.New("OpenTofu has encrypted it: decrypt it first, with a fallback method")
	}
	// Each text is kept once: states have up to 100 MB.
	list := json.NewDecoder(bytes.NewReader(d.fields["resources"]))
	delete(d.fields, "resources")
	switch token, err := list.Token(); {
	case errors.Is(err, io.EOF), err == nil && token == nil: // there are none
		return d, nil
	case err != nil, token != json.Delim('['):
		return nil, errFormat
	}
	for list.More() {
		var raw map[string]json.RawMessage
		if list.Decode(&raw) != nil {
			return nil, errFormat
		}
		r, err := parseResource(name, raw)
		if err != nil {
			return nil, err
		}
		if d.find(r.address()) != nil {
			return nil, fmt.Errorf("%w: it has %s twice", errFormat, r.address())
		}
		d.add(r)
	}
	return d, nil
}

func parseResource(origin string, raw map[string]json.RawMessage) (*resource, error) {
	r := &resource{raw: raw}
	for field, to := range map[string]*string{"mode": &r.mode, "type": &r.kind, "name": &r.name} {
		if json.Unmarshal(raw[field], to) != nil || *to == "" {
			return nil, errFormat
		}
	}
	var module string
	if text, there := raw["module"]; there && json.Unmarshal(text, &module) != nil {
		return nil, errFormat
	}
	if module != "" {
		a, err := ParseAddress(module)
		if err != nil || !a.IsModule() {
			return nil, fmt.Errorf("%w: a resource is in no module", errFormat)
		}
		r.calls = a.calls
	}
	var list []map[string]json.RawMessage
	if json.Unmarshal(raw["instances"], &list) != nil {
		return nil, errFormat
	}
	delete(raw, "instances")
	for _, inner := range list {
		k, err := normal(inner["index_key"])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errFormat, err)
		}
		r.instances = append(r.instances, &instance{raw: inner, key: k, home: site{origin, bare(r.address())}})
	}
	return r, nil
}

// address is that of the resource, without keys of its instances.
func (r *resource) address() Address { return Address{r.calls, r.mode, r.kind, r.name, ""} }

// find returns the entry of a resource; nil for none.
func (d *document) find(a Address) *resource { return d.index[a.String()] }

func (d *document) add(r *resource) {
	d.resources = append(d.resources, r)
	d.index[r.address().String()] = r
}

// drop forgets picked entries that have no instances left. They stay in the list until the end: a list of
// thousands would be searched for each step.
func (d *document) drop(picks []pick) {
	for _, p := range picks {
		if address := p.of.address().String(); len(p.of.instances) == 0 && d.index[address] == p.of {
			delete(d.index, address)
		}
	}
}

// compact removes entries without instances.
func (d *document) compact() {
	d.resources = slices.DeleteFunc(d.resources, func(r *resource) bool { return len(r.instances) == 0 })
}

// write makes the text of the document, with a higher serial.
func (d *document) write() ([]byte, error) {
	slices.SortStableFunc(d.resources, func(a, b *resource) int {
		return cmp.Or(cmp.Compare(path(a.calls), path(b.calls)), cmp.Compare(a.mode, b.mode), cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	})
	var serial uint64
	if json.Unmarshal(d.fields["serial"], &serial) != nil {
		return nil, errFormat
	}
	d.fields["serial"] = json.RawMessage(fmt.Sprint(serial + 1))
	d.fields["resources"] = nil // its place in the order
	var out bytes.Buffer
	between := "{\n  "
	for _, name := range slices.Sorted(maps.Keys(d.fields)) {
		fmt.Fprintf(&out, "%s%s: ", between, text(name))
		between = ",\n  "
		if name == "resources" {
			if err := d.writeResources(&out); err != nil {
				return nil, err
			}
		} else if err := json.Indent(&out, d.fields[name], "  ", "  "); err != nil {
			return nil, err
		}
	}
	out.WriteString("\n}\n")
	return out.Bytes(), nil
}

// writeResources writes one resource after the other, so that there is no second copy of all of them.
func (d *document) writeResources(out *bytes.Buffer) error {
	if len(d.resources) == 0 {
		out.WriteString("[]")
		return nil
	}
	between := "[\n    "
	for _, r := range d.resources {
		inner := make([]map[string]json.RawMessage, 0, len(r.instances))
		for _, one := range r.instances {
			inner = append(inner, one.raw)
		}
		whole := map[string]any{"instances": inner}
		for name, value := range r.raw {
			whole[name] = value
		}
		text, err := json.MarshalIndent(whole, "    ", "  ")
		if err != nil {
			return err
		}
		out.WriteString(between)
		out.Write(text)
		between = ",\n    "
	}
	out.WriteString("\n  ]")
	return nil
}

// text is a JSON text. The texts of this package can always be written.
func text(s string) json.RawMessage {
	raw, _ := json.Marshal(s) //nolint:errchkjson // see above
	return raw
}

// Count returns the number of instances in a state; zero for one that is not of format version 4.
func Count(data []byte) (n int) {
	var counted struct {
		Version   int `json:"version"`
		Resources []struct {
			Instances []struct{} `json:"instances"`
		} `json:"resources"`
	}
	if json.Unmarshal(data, &counted) != nil || counted.Version != 4 {
		return 0
	}
	for _, r := range counted.Resources {
		n += len(r.Instances)
	}
	return n
}
