// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fault"
	"github.com/yuba-dev/yuba/internal/runs/runner/supervisor"
)

// maxResources limits the inventory in a result.
const maxResources = 20_000

// readBack asks the tool for outputs and resources that the server cannot read in the state.
func (s *planStep) readBack(ctx context.Context) error {
	if s.run.Spec.ReadOutputs {
		if err := s.output(ctx); err != nil {
			var f *fault.Failure
			if !errors.As(err, &f) {
				f = &fault.Failure{Err: err}
			}
			f.Step = run.StepOutput
			return f
		}
	}
	if s.run.Spec.ReadResources {
		// The apply succeeded; the list is informational.
		if err := s.resources(ctx); err != nil {
			s.run.Warn("the inventory could not be read: %v", err)
		}
	}
	return nil
}

// output reads the outputs.
func (s *planStep) output(ctx context.Context) error {
	c := supervisor.Command{Step: run.StepOutput, Args: []string{"output", "-json", "-no-color"}}
	text, err := s.program.Document(ctx, c, s.run.StateLimit())
	if err != nil {
		return err
	}
	s.run.Result.Outputs = text
	return nil
}

// resources reads the resources in the state.
func (s *planStep) resources(ctx context.Context) error {
	c := supervisor.Command{Step: run.StepShow, Args: []string{"show", "-json", "-no-color"}}
	text, err := s.program.Document(ctx, c, 2*s.run.StateLimit())
	if err != nil {
		return err
	}
	s.run.Result.Resources, err = readResources(text)
	return err
}

// shownModule is a module in the output of `show -json` for a state.
type shownModule struct {
	Resources []shownResource `json:"resources"`
	Modules   []shownModule   `json:"child_modules"`
}

type shownResource struct {
	Address   string         `json:"address"`
	Deposed   string         `json:"deposed_key"`
	Mode      string         `json:"mode"`
	Type      string         `json:"type"`
	Name      string         `json:"name"`
	Values    map[string]any `json:"values"`
	Sensitive any            `json:"sensitive_values"`
}

// shownManaged returns the managed resources of a shown state, those of the root module first.
func shownManaged(text []byte) ([]shownResource, error) {
	var state struct {
		Values struct {
			Root shownModule `json:"root_module"`
		} `json:"values"`
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, errors.New("the tool's description of the state has an unknown format")
	}
	return state.Values.Root.managed(nil), nil
}

func (m *shownModule) managed(list []shownResource) []shownResource {
	for _, r := range m.Resources {
		if r.Mode == "managed" {
			list = append(list, r)
		}
	}
	for _, inner := range m.Modules {
		list = inner.managed(list)
	}
	return list
}

// readResources lists the managed resources of a shown state, up to the limit.
func readResources(text []byte) ([]run.Resource, error) {
	all, err := shownManaged(text)
	if err != nil {
		return nil, err
	}
	list := []run.Resource{}
	for _, r := range all[:min(len(all), maxResources)] {
		list = append(list, run.Resource{Name: r.Name, Type: r.Type, ID: identifier(r.Values, r.Sensitive)})
	}
	return list, nil
}

// shownAddresses lists the managed resource instances with a current object. The list is complete:
// instances that it lacks would count as deleted.
func shownAddresses(text []byte) ([]string, error) {
	all, err := shownManaged(text)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, r := range all {
		if r.Deposed == "" {
			list = append(list, r.Address)
		}
	}
	if len(list) > maxResources {
		return nil, fmt.Errorf("the state has %d resource instances, the limit is %d", len(list), maxResources)
	}
	return list, nil
}

// identifier is the ARN of a resource if it has one, else its id; empty if that is sensitive.
func identifier(values map[string]any, sensitive any) string {
	marks, _ := sensitive.(map[string]any)
	if sensitive == true {
		return ""
	}
	for _, name := range []string{"arn", "id"} {
		if text, ok := values[name].(string); ok {
			if marks[name] == true {
				return ""
			}
			return text
		}
	}
	return ""
}
