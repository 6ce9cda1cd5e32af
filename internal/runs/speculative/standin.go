// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package speculative

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
)

// StandIn is the Secret with outputs that a producer would write after the apply of a plan.
type StandIn struct {
	*Planned
	// Name is the Secret, in the producer's namespace. Wanted are the outputs that it gets, as in
	// spec.writeOutputsToSecret: NAME or NAME:KEY; empty for all.
	Name   string
	Wanted []string
}

// Unknown is an output that is known after the apply only, and the key for it.
type Unknown struct{ Stack, Output, Secret, Key string }

// Need describes it for people.
func (u Unknown) Need() Need { return Need{Stack: u.Stack, Input: "output " + u.Output} }

// keys are the outputs by the key that they have in the Secret.
func (s *StandIn) keys() map[string]string {
	wanted := s.Wanted
	if len(wanted) == 0 {
		wanted = slices.Sorted(maps.Keys(s.outputs))
	}
	keys := map[string]string{}
	for _, w := range wanted {
		name, key, _ := strings.Cut(w, ":")
		if key == "" {
			key = name
		}
		if _, planned := s.outputs[name]; planned {
			keys[key] = name
		}
	}
	return keys
}

// Unknown lists what of the Secret is known after the apply only.
func (s *StandIn) Unknown() []Unknown {
	var list []Unknown
	keys := s.keys()
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if o := s.outputs[keys[key]]; o.unknown && !o.gone {
			list = append(list, Unknown{Stack: s.Stack.String(), Output: keys[key], Secret: s.Name, Key: key})
		}
	}
	return list
}

// Fill returns what is in place of an unknown value; ok is false to leave the key out.
type Fill func(u Unknown) (text string, ok bool)

// Secret returns the Secret as it would be. current is the one that exists now; its note about open
// outputs must have been checked. It is not modified.
func (s *StandIn) Secret(current *corev1.Secret, fill Fill) *corev1.Secret {
	out := current.DeepCopy()
	if out.Data == nil {
		out.Data = map[string][]byte{}
	}
	open := map[string]bool{}
	if known, ok := inputs.OpenOutputsOf(current); ok {
		for _, key := range known.Open {
			open[key] = true
		}
	}
	for key, name := range s.keys() {
		o := s.outputs[name]
		_, there := out.Data[key]
		switch {
		case o.same && there:
			continue
		case o.gone:
			delete(out.Data, key)
			delete(out.Data, inputs.TypeOf(key))
			delete(open, key)
			continue
		case o.unknown:
			delete(out.Data, key)
			delete(out.Data, inputs.TypeOf(key))
			delete(open, key)
			if text, ok := fill(Unknown{Stack: s.Stack.String(), Output: name, Secret: s.Name, Key: key}); ok {
				out.Data[key] = []byte(text)
			}
			continue
		}
		out.Data[key] = textOf(o.value)
		if open[key] = o.open; isString(o.value) {
			delete(out.Data, inputs.TypeOf(key))
		} else if _, typed := out.Data[inputs.TypeOf(key)]; !typed {
			// A plan does not have the type. That there is one says that the value is JSON.
			out.Data[inputs.TypeOf(key)] = []byte(`"dynamic"`)
		}
	}
	maps.DeleteFunc(open, func(_ string, is bool) bool { return !is })
	noted := inputs.OpenOutputs{Open: slices.Sorted(maps.Keys(open))}
	out.Annotations = maps.Clone(out.Annotations)
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Annotations[infrav1.OpenOutputsAnnotation] = noted.Annotation(out.Data)
	return out
}
