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

// maxResources bounds the inventory in a result, so that the result stays one the server takes.
const maxResources = 20_000

// readBack asks the tool for what the server cannot read in the state itself.
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
		// What was applied is applied; the list of it is for people to look at.
		if err := s.resources(ctx); err != nil {
			s.run.Warn("the inventory could not be read: %v", err)
		}
	}
	return nil
}

// output asks for the outputs after an apply.
func (s *planStep) output(ctx context.Context) error {
	c := supervisor.Command{Step: run.StepOutput, Args: []string{"output", "-json", "-no-color"}}
	text, err := s.program.Document(ctx, c, s.run.StateLimit())
	if err != nil {
		return err
	}
	s.run.Result.Outputs = text
	return nil
}

// resources asks for the resources in the state.
func (s *planStep) resources(ctx context.Context) error {
	c := supervisor.Command{Step: run.StepShow, Args: []string{"show", "-json", "-no-color"}}
	text, err := s.program.Document(ctx, c, 2*s.run.StateLimit())
	if err != nil {
		return err
	}
	s.run.Result.Resources, err = readResources(text)
	return err
}

// shownModule is a module in what `show -json` says of a state.
type shownModule struct {
	Resources []struct {
		Address   string         `json:"address"`
		Deposed   string         `json:"deposed_key"`
		Mode      string         `json:"mode"`
		Type      string         `json:"type"`
		Name      string         `json:"name"`
		Values    map[string]any `json:"values"`
		Sensitive any            `json:"sensitive_values"`
	} `json:"resources"`
	Modules []shownModule `json:"child_modules"`
}

// readResources lists the managed resources of a shown state, the root module's first.
func readResources(text []byte) ([]run.Resource, error) {
	root, err := shownRoot(text)
	if err != nil {
		return nil, err
	}
	list := []run.Resource{}
	var walk func(shownModule)
	walk = func(m shownModule) {
		for _, r := range m.Resources {
			if r.Mode == "managed" && len(list) < maxResources {
				list = append(list, run.Resource{Name: r.Name, Type: r.Type, ID: identifier(r.Values, r.Sensitive)})
			}
		}
		for _, inner := range m.Modules {
			walk(inner)
		}
	}
	walk(root)
	return list, nil
}

func shownRoot(text []byte) (shownModule, error) {
	var state struct {
		Values struct {
			Root shownModule `json:"root_module"`
		} `json:"values"`
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return shownModule{}, errors.New("what the tool shows of the state has an unknown form")
	}
	return state.Values.Root, nil
}

// shownAddresses are the managed resource instances of a shown state that have a present object: all of them, for those that
// a list leaves out would pass for gone.
func shownAddresses(text []byte) ([]string, error) {
	root, err := shownRoot(text)
	if err != nil {
		return nil, err
	}
	var list []string
	var walk func(shownModule)
	walk = func(m shownModule) {
		for _, r := range m.Resources {
			if r.Mode == "managed" && r.Deposed == "" {
				list = append(list, r.Address)
			}
		}
		for _, inner := range m.Modules {
			walk(inner)
		}
	}
	walk(root)
	if len(list) > maxResources {
		return nil, fmt.Errorf("the state has %d resource instances, and a result names %d at most", len(list), maxResources)
	}
	return list, nil
}

// identifier is what the provider calls a resource: its ARN if it has one, else its id. One that is sensitive is not told.
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
