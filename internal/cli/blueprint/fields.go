// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// Fields are the flags of a command that describe an object.
type Fields struct {
	cmd  *cobra.Command
	sets []func(spec map[string]any, namespace string) error
}

// New starts the fields of a command.
func New(cmd *cobra.Command) *Fields { return &Fields{cmd: cmd} }

// Func sets a field to the value that read returns, unless that is nil. namespace is the object's.
func (f *Fields) Func(field string, read func(namespace string) (any, error)) {
	f.sets = append(f.sets, func(spec map[string]any, namespace string) error {
		value, err := read(namespace)
		if err != nil || value == nil {
			return err
		}
		return unstructured.SetNestedField(spec, value, strings.Split(field, ".")...)
	})
}

// Always sets a field to a value.
func (f *Fields) Always(field string, value any) {
	f.Func(field, func(string) (any, error) { return value, nil })
}

// Text sets a field to the text of a flag, unless it is empty.
func (f *Fields) Text(flag, field, byDefault, usage string) {
	text := f.cmd.Flags().String(flag, byDefault, usage)
	f.Func(field, func(string) (any, error) {
		if *text == "" {
			return nil, nil
		}
		return *text, nil
	})
}

// Duration sets a field to the duration of a flag.
func (f *Fields) Duration(flag, field string, byDefault time.Duration, usage string) {
	d := f.cmd.Flags().Duration(flag, byDefault, usage)
	f.Func(field, func(string) (any, error) { return d.String(), nil })
}

// Switch sets a field to a value if a boolean flag is set.
func (f *Fields) Switch(flag, field string, value any, usage string) {
	on := f.cmd.Flags().Bool(flag, false, usage)
	f.Func(field, func(string) (any, error) {
		if !*on {
			return nil, nil
		}
		return value, nil
	})
}

// Each sets a field to the list that parse makes of the values of a flag, unless there are none.
func (f *Fields) Each(field string, values *[]string, parse func(string) (any, error)) {
	f.Func(field, func(string) (any, error) {
		if len(*values) == 0 {
			return nil, nil
		}
		list := make([]any, len(*values))
		for i, value := range *values {
			item, err := parse(value)
			if err != nil {
				return nil, err
			}
			list[i] = item
		}
		return list, nil
	})
}

// Require rejects a command line that lacks any of these flags.
func (f *Fields) Require(message string, flags ...string) {
	for _, flag := range flags {
		f.RequireOne(message, flag)
	}
}

// RequireOne rejects a command line that has none of these flags.
func (f *Fields) RequireOne(message string, flags ...string) {
	f.sets = append(f.sets, func(map[string]any, string) error {
		for _, flag := range flags {
			if value := f.cmd.Flag(flag).Value.String(); value != "" && value != "[]" {
				return nil
			}
		}
		return ui.UsageErrorf(f.cmd, "%s", message)
	})
}

// Variables adds the flag --var.
func (f *Fields) Variables() {
	vars := f.cmd.Flags().StringArray("var", nil, "an input variable as NAME=VALUE; lists and objects are written as JSON")
	f.Each("vars", vars, func(v string) (any, error) {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, ui.UsageErrorf(f.cmd, "--var %q: want NAME=VALUE", v)
		}
		return map[string]any{"name": name, "value": value}, nil
	})
}

// Dependencies adds the flag --depends-on.
func (f *Fields) Dependencies(usage string) {
	names := f.cmd.Flags().StringArray("depends-on", nil, usage+", as NAME or NAMESPACE/NAME")
	f.Each("dependsOn", names, func(v string) (any, error) {
		namespace, name, both := strings.Cut(v, "/")
		switch {
		case !both && v != "":
			return map[string]any{"name": v}, nil
		case namespace == "" || name == "":
			return nil, ui.UsageErrorf(f.cmd, "--depends-on %q: want NAME or NAMESPACE/NAME", v)
		}
		return map[string]any{"namespace": namespace, "name": name}, nil
	})
}

// Source adds the flag --source.
func (f *Fields) Source() {
	source := f.cmd.Flags().String("source", "", "the source as KIND/NAME, or KIND/NAME.NAMESPACE (required)")
	f.Require("--source is missing: name the source of the program", "source")
	f.Func("sourceRef", func(namespace string) (any, error) {
		ref, err := Reference(f.cmd, "source", *source, session.SourceKinds)
		if ref["namespace"] == namespace {
			delete(ref, "namespace")
		}
		return ref, err
	})
}

// Reference reads a flag with KIND/NAME, or as with flux KIND/NAME.NAMESPACE, of known kinds.
func Reference(cmd *cobra.Command, flag, value string, known []string) (map[string]any, error) {
	kind, name, ok := strings.Cut(value, "/")
	if !ok || name == "" || !slices.Contains(known, kind) {
		return nil, ui.UsageErrorf(cmd, "--%s %q: want KIND/NAME, and KIND one of %s", flag, value, strings.Join(known, ", "))
	}
	ref := map[string]any{"kind": kind, "name": name}
	if at := strings.LastIndex(name, "."); at > 0 {
		ref["name"], ref["namespace"] = name[:at], name[at+1:]
	}
	return ref, nil
}

// Object is the object that the flags describe.
func (f *Fields) Object(k session.Kind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	if problems := validation.IsDNS1123Subdomain(key.Name); len(problems) > 0 {
		return nil, ui.UsageErrorf(f.cmd, "%s: %s", key.Name, problems[0])
	}
	spec := map[string]any{}
	for _, set := range f.sets {
		if err := set(spec, key.Namespace); err != nil {
			return nil, err
		}
	}
	object := k.Empty()
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	object.Object["spec"] = spec
	return object, nil
}
