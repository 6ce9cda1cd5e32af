// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ssmtest

import (
	"maps"
	"slices"
)

type filter struct {
	Key, Option string
	Values      []string
}

type describeInput struct {
	NextToken        string
	MaxResults       *int
	ParameterFilters []filter
	Shared           bool
}

// metadata is a parameter without its value.
type metadata struct {
	Name, Type, ARN, DataType, Tier    string
	Description, KeyId, AllowedPattern string `json:",omitempty"` //nolint:revive // AWS's names
	Version                            int64
	LastModifiedDate                   float64
}

type describeOutput struct {
	Parameters []metadata
	NextToken  string `json:",omitempty"`
}

func (s *Server) describe(in *describeInput) (*describeOutput, error) {
	n, err := results(in.MaxResults, 50)
	if err != nil {
		return nil, err
	}
	names := slices.Collect(maps.Keys(s.parameters))
	for _, f := range in.ParameterFilters {
		if f.Key != "Name" || f.Option != "" && f.Option != "Equals" {
			return nil, refuse("InvalidFilterKey", "the server of the tests has only the filter Name Equals")
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(f.Values, name) })
	}
	names, next := page(names, in.NextToken, n)
	out := &describeOutput{Parameters: []metadata{}, NextToken: next}
	for _, name := range names {
		p := s.parameters[name]
		m := metadata{
			Name: name, Type: p.kind, ARN: arn(name), DataType: p.dataType, Tier: p.tier, Description: p.description,
			KeyId: p.key, AllowedPattern: p.pattern, Version: p.version, LastModifiedDate: float64(p.at.Unix()),
		}
		if p.kind == "SecureString" && p.key == "" {
			m.KeyId = "alias/aws/ssm"
		}
		out.Parameters = append(out.Parameters, m)
	}
	return out, nil
}

type removeInput struct{ Name string }

func (s *Server) remove(in *removeInput) (*struct{}, error) {
	if s.parameters[in.Name] == nil {
		return nil, refuse("ParameterNotFound", "")
	}
	delete(s.parameters, in.Name)
	return &struct{}{}, nil
}

type removeManyInput struct{ Names []string }

type removeManyOutput struct{ DeletedParameters, InvalidParameters []string }

func (s *Server) removeMany(in *removeManyInput) (*removeManyOutput, error) {
	if len(in.Names) == 0 || len(in.Names) > most {
		return nil, refuse("ValidationException", "'names' must have between 1 and %d members", most)
	}
	out := &removeManyOutput{DeletedParameters: []string{}, InvalidParameters: []string{}}
	for _, name := range in.Names {
		if s.parameters[name] == nil {
			out.InvalidParameters = append(out.InvalidParameters, name)
			continue
		}
		delete(s.parameters, name)
		out.DeletedParameters = append(out.DeletedParameters, name)
	}
	return out, nil
}

type tagsInput struct {
	ResourceType, ResourceId string //nolint:revive // AWS's names
	Tags                     []tag
	TagKeys                  []string
}

// tagged returns the parameter that a call about tags names.
func (s *Server) tagged(in *tagsInput) (*parameter, error) {
	if in.ResourceType != "Parameter" {
		return nil, refuse("InvalidResourceType", "The resource type %q isn't valid", in.ResourceType)
	}
	p := s.parameters[in.ResourceId]
	if p == nil {
		return nil, refuse("InvalidResourceId", "The resource ID %q isn't valid", in.ResourceId)
	}
	return p, nil
}

func (s *Server) addTags(in *tagsInput) (*struct{}, error) {
	p, err := s.tagged(in)
	if err != nil {
		return nil, err
	}
	for _, t := range in.Tags {
		p.tags[t.Key] = t.Value
	}
	if len(p.tags) > 50 {
		return nil, refuse("TooManyTagsError", "a parameter has at most 50 tags")
	}
	return &struct{}{}, nil
}

func (s *Server) removeTags(in *tagsInput) (*struct{}, error) {
	p, err := s.tagged(in)
	if err != nil {
		return nil, err
	}
	for _, key := range in.TagKeys {
		delete(p.tags, key)
	}
	return &struct{}{}, nil
}

type tagsOutput struct{ TagList []tag }

func (s *Server) listTags(in *tagsInput) (*tagsOutput, error) {
	p, err := s.tagged(in)
	if err != nil {
		return nil, err
	}
	out := &tagsOutput{TagList: []tag{}}
	for _, key := range slices.Sorted(maps.Keys(p.tags)) {
		out.TagList = append(out.TagList, tag{key, p.tags[key]})
	}
	return out, nil
}
