// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statefile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// File is the content of a state. For an encrypted one only the first three fields are known.
type File struct {
	Serial    uint64
	Lineage   string
	Encrypted bool
	// TerraformVersion is the version of the tool that wrote it; OpenTofu kept the field's name.
	TerraformVersion string
	Outputs          map[string]Output
	// Resources are the instances, in the order of the file, including deposed objects.
	Resources []Resource
}

// Output is an output value of the root module.
type Output struct {
	Value     json.RawMessage
	Type      json.RawMessage // as go-cty writes types
	Sensitive bool
}

// Resource is one instance of a resource or data source.
type Resource struct {
	// Address is the full address: module.a["x"].data.kind.name[0].
	Address string
	Module  string
	// Mode is "managed" or "data".
	Mode, Type, Name string
	// ProviderAddr is the provider's source address, such as registry.opentofu.org/hashicorp/time.
	ProviderAddr string
	// ID is the attribute "id"; empty if there is none of type string.
	ID string
	// Deposed is the key of an object that has a replacement and is still to be destroyed.
	Deposed string
	Tainted bool
	// Attributes is a JSON object with all values in clear text, including sensitive ones.
	Attributes json.RawMessage
	// SensitivePaths are the paths of sensitive values: attribute names and indices. Everything
	// below is sensitive, too.
	SensitivePaths [][]string
	Dependencies   []string
}

// The format of the file.
type (
	fileV4 struct {
		TerraformVersion string              `json:"terraform_version"`
		Outputs          map[string]outputV4 `json:"outputs"`
		Resources        []resourceV4        `json:"resources"`
	}
	outputV4 struct {
		Value     json.RawMessage `json:"value"`
		Type      json.RawMessage `json:"type"`
		Sensitive bool            `json:"sensitive"`
	}
	resourceV4 struct {
		Module    string       `json:"module"`
		Mode      string       `json:"mode"`
		Type      string       `json:"type"`
		Name      string       `json:"name"`
		Provider  string       `json:"provider"`
		Instances []instanceV4 `json:"instances"`
	}
	instanceV4 struct {
		IndexKey       json.RawMessage   `json:"index_key"`
		Status         string            `json:"status"`
		Deposed        string            `json:"deposed"`
		Provider       string            `json:"provider"`
		Attributes     json.RawMessage   `json:"attributes"`
		AttributesFlat map[string]string `json:"attributes_flat"`
		Sensitive      json.RawMessage   `json:"sensitive_attributes"`
		Dependencies   []string          `json:"dependencies"`
	}
)

// Parse parses a state of format version 4, which every OpenTofu and every Terraform since 0.12
// writes. Its errors quote nothing of the state.
func Parse(data []byte) (*File, error) {
	h, err := ReadHeader(data)
	if err != nil {
		return nil, fmt.Errorf("read a state: %w", err)
	}
	file := &File{Serial: h.Serial, Lineage: h.Lineage, Encrypted: h.Encrypted}
	if file.Encrypted {
		return file, nil
	}
	var raw fileV4
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("read a state: %w", withoutContent(err))
	}
	file.TerraformVersion = raw.TerraformVersion
	file.Outputs = make(map[string]Output, len(raw.Outputs))
	for name, output := range raw.Outputs {
		file.Outputs[name] = Output(output)
	}
	for _, resource := range raw.Resources {
		for _, instance := range resource.Instances {
			parsed, err := parseInstance(resource, instance)
			if err != nil {
				return nil, fmt.Errorf("read %s in a state: %w", resource.address(), err)
			}
			file.Resources = append(file.Resources, parsed)
		}
	}
	return file, nil
}

func parseInstance(resource resourceV4, instance instanceV4) (Resource, error) {
	index, err := formatIndex(instance.IndexKey)
	if err != nil {
		return Resource{}, err
	}
	paths, err := parsePaths(instance.Sensitive)
	if err != nil {
		return Resource{}, err
	}
	attributes := instance.Attributes
	if len(attributes) == 0 && instance.AttributesFlat != nil { // written by a provider before 0.12
		if attributes, err = json.Marshal(instance.AttributesFlat); err != nil {
			return Resource{}, err
		}
	}
	return Resource{
		Address: resource.address() + index, Module: resource.Module,
		Mode: resource.Mode, Type: resource.Type, Name: resource.Name,
		ProviderAddr: providerAddr(cmp.Or(instance.Provider, resource.Provider)), ID: idOf(attributes),
		Deposed: instance.Deposed, Tainted: instance.Status == "tainted",
		Attributes: attributes, SensitivePaths: paths, Dependencies: instance.Dependencies,
	}, nil
}

func idOf(attributes json.RawMessage) string {
	var fields map[string]json.RawMessage
	var id string
	if json.Unmarshal(attributes, &fields) != nil || json.Unmarshal(fields["id"], &id) != nil {
		return ""
	}
	return id
}

// providerAddr extracts the source address from a provider configuration's address:
// module.a.provider["ADDR"].alias["key"].
func providerAddr(configuration string) string {
	_, rest, found := strings.Cut(configuration, `provider["`)
	address, _, closed := strings.Cut(rest, `"]`)
	if !found || !closed {
		return configuration
	}
	return address
}

// parsePaths parses the paths of sensitive values. Elements of a set have no index: the path ends
// at the set, so all of the set is sensitive.
func parsePaths(raw json.RawMessage) ([][]string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var paths [][]struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(raw, &paths); err != nil {
		return nil, fmt.Errorf("the paths of its sensitive values: %w", withoutContent(err))
	}
	var out [][]string
	for _, path := range paths {
		steps := []string{}
		for _, step := range path {
			name, ok := stepName(step.Type, step.Value)
			if !ok {
				break
			}
			steps = append(steps, name)
		}
		out = append(out, steps)
	}
	return out, nil
}

func stepName(kind string, value json.RawMessage) (string, bool) {
	if kind == "index" { // a value with its type: {"value": 0, "type": "number"}
		var typed struct {
			Value json.RawMessage `json:"value"`
		}
		if json.Unmarshal(value, &typed) != nil {
			return "", false
		}
		value = typed.Value
	}
	var name string
	var number json.Number
	switch {
	case json.Unmarshal(value, &name) == nil:
		return name, true
	case kind == "index" && json.Unmarshal(value, &number) == nil:
		return number.String(), true
	}
	return "", false
}

// Resource returns the instance with an address, never a deposed object.
func (f *File) Resource(address string) (Resource, bool) {
	i := slices.IndexFunc(f.Resources, func(r Resource) bool { return r.Address == address && r.Deposed == "" })
	if i < 0 {
		return Resource{}, false
	}
	return f.Resources[i], true
}
