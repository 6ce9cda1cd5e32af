// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ssmtest

import (
	"cmp"
	"encoding/base64"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// parameter is the last version of a parameter.
type parameter struct {
	kind, value, tier, dataType string
	description, key, pattern   string
	version                     int64
	at                          time.Time
	tags                        map[string]string
}

// Limits, see https://docs.aws.amazon.com/general/latest/gr/ssm.html
const (
	standard = 4 << 10
	advanced = 8 << 10
	depth    = 15
	most     = 10
)

var nameRE = regexp.MustCompile(`^[a-zA-Z0-9_.\-/]+$`)

// checkName refuses names as PutParameter does.
func checkName(name string) error {
	switch bare := strings.ToLower(strings.TrimPrefix(name, "/")); {
	case !nameRE.MatchString(name), len(name) > 1011:
		return refuse("ValidationException", "Parameter name: can't be prefixed with \"ssm\" (case-insensitive) and must only consist of a mix of letters, numbers and the following 3 symbols .-_ and the separator /")
	case strings.HasPrefix(bare, "aws"), strings.HasPrefix(bare, "ssm"):
		return refuse("ValidationException", "Parameter name: can't be prefixed with \"aws\" or \"ssm\" (case-insensitive).")
	case strings.Contains(name, "/") && !strings.HasPrefix(name, "/"):
		return refuse("ValidationException", "Parameter name must be a fully qualified name.")
	case strings.Contains(name, "//"), strings.HasSuffix(name, "/"):
		return refuse("ValidationException", "Parameter name: %q has an empty level", name)
	case strings.Count(name, "/") > depth:
		return refuse("HierarchyLevelLimitExceededException", "The parameter %s has more than %d levels", name, depth)
	}
	return nil
}

type tag struct{ Key, Value string }

type putInput struct {
	Name, Value, Type, Description, KeyId, AllowedPattern, Tier, DataType, Policies string //nolint:revive // AWS's names
	Overwrite                                                                       bool
	Tags                                                                            []tag
}

type putOutput struct {
	Version int64
	Tier    string
}

func (s *Server) put(in *putInput) (*putOutput, error) {
	if err := checkName(in.Name); err != nil {
		return nil, err
	}
	old := s.parameters[in.Name]
	tier := cmp.Or(in.Tier, "Standard")
	if tier == "Intelligent-Tiering" {
		tier = "Standard"
		if len(in.Value) > standard || old != nil && old.tier == "Advanced" {
			tier = "Advanced"
		}
	}
	switch {
	case in.Value == "":
		return nil, refuse("ValidationException", "1 validation error detected: Value at 'value' failed to satisfy constraint: Member must have length greater than or equal to 1.")
	case old != nil && !in.Overwrite:
		return nil, refuse("ParameterAlreadyExists", "The parameter already exists. To overwrite this value, set the overwrite option in the request to true.")
	case in.Overwrite && len(in.Tags) > 0:
		return nil, refuse("ValidationException", "Invalid request: tags and overwrite can't be used together. To create a parameter with tags, please remove overwrite flag. To update tags for an existing parameter, please use AddTagsToResource or RemoveTagsFromResource.")
	case old == nil && in.Type == "":
		return nil, refuse("ValidationException", "A parameter type is required when you create a parameter.")
	case old != nil && in.Type != "" && in.Type != old.kind && (in.Type == "SecureString" || old.kind == "SecureString"):
		return nil, refuse("HierarchyTypeMismatchException", "Parameter Store doesn't support changing a parameter type in a hierarchy.")
	case in.Type != "" && !slices.Contains([]string{"String", "StringList", "SecureString"}, in.Type):
		return nil, refuse("UnsupportedParameterType", "The parameter type %q isn't supported.", in.Type)
	case strings.Contains(in.Value, "{{"):
		return nil, refuse("ValidationException", "Parameter value: can't nest another parameter. Do not use \"{{}}\" in the value.")
	case tier == "Standard" && len(in.Value) > standard:
		return nil, refuse("ValidationException", "Standard tier parameters support a maximum parameter value of 4096 characters. To create a larger parameter value, upgrade the parameter to use the advanced-parameter tier.")
	case len(in.Value) > advanced:
		return nil, refuse("ValidationException", "Advanced tier parameters support a maximum parameter value of 8192 characters.")
	case tier == "Standard" && old != nil && old.tier == "Advanced":
		return nil, refuse("ValidationException", "This parameter uses the advanced-parameter tier. You can't downgrade a parameter from the advanced-parameter tier to the standard-parameter tier.")
	}
	p := &parameter{
		kind: in.Type, value: in.Value, tier: tier, dataType: cmp.Or(in.DataType, "text"), description: in.Description,
		key: in.KeyId, pattern: in.AllowedPattern, version: 1, at: time.Now(), tags: map[string]string{},
	}
	if old != nil {
		p.version, p.tags, p.kind = old.version+1, old.tags, cmp.Or(in.Type, old.kind)
	}
	for _, t := range in.Tags {
		p.tags[t.Key] = t.Value
	}
	s.parameters[in.Name] = p
	return &putOutput{p.version, p.tier}, nil
}

// shown is a parameter in an answer.
type shown struct {
	Name, Type, Value, ARN, DataType string
	Version                          int64
	LastModifiedDate                 float64
}

func (s *Server) show(name string, decrypt bool) shown {
	p := s.parameters[name]
	value := p.value
	if p.kind == "SecureString" && !decrypt {
		value = "AQICAH" + base64.StdEncoding.EncodeToString([]byte("the ciphertext of "+name))
	}
	return shown{name, p.kind, value, arn(name), p.dataType, p.version, float64(p.at.UnixMilli()) / 1000}
}

func arn(name string) string {
	return "arn:aws:ssm:" + Region + ":" + Account + ":parameter/" + strings.TrimPrefix(name, "/")
}

type getInput struct {
	Name           string
	WithDecryption bool
}

type getOutput struct{ Parameter shown }

func (s *Server) get(in *getInput) (*getOutput, error) {
	name, version, selected := strings.Cut(in.Name, ":")
	if p := s.parameters[name]; selected && p != nil {
		if strconv.FormatInt(p.version, 10) != version { // it has no history
			return nil, refuse("ParameterVersionNotFound", "Systems Manager could not find version %s of %s.", version, name)
		}
		in.Name = name
	}
	if s.parameters[in.Name] == nil {
		return nil, refuse("ParameterNotFound", "")
	}
	return &getOutput{s.show(in.Name, in.WithDecryption)}, nil
}

type getManyInput struct {
	Names          []string
	WithDecryption bool
}

type getManyOutput struct {
	Parameters        []shown
	InvalidParameters []string
}

func (s *Server) getMany(in *getManyInput) (*getManyOutput, error) {
	if len(in.Names) == 0 || len(in.Names) > most {
		return nil, refuse("ValidationException", "'names' must have between 1 and %d members", most)
	}
	out := &getManyOutput{Parameters: []shown{}, InvalidParameters: []string{}}
	for _, name := range in.Names {
		if s.parameters[name] == nil {
			out.InvalidParameters = append(out.InvalidParameters, name)
			continue
		}
		out.Parameters = append(out.Parameters, s.show(name, in.WithDecryption))
	}
	return out, nil
}

type byPathInput struct {
	Path, NextToken           string
	Recursive, WithDecryption bool
	MaxResults                *int
	ParameterFilters          []filter
}

type byPathOutput struct {
	Parameters []shown
	NextToken  string `json:",omitempty"`
}

func (s *Server) byPath(in *byPathInput) (*byPathOutput, error) {
	n, err := results(in.MaxResults, most)
	switch {
	case err != nil:
		return nil, err
	case !strings.HasPrefix(in.Path, "/"):
		return nil, refuse("ValidationException", "The parameter path must begin with a slash: %q", in.Path)
	case len(in.ParameterFilters) > 0:
		return nil, refuse("InvalidFilterKey", "the server of the tests has no filters of paths")
	}
	under := strings.TrimSuffix(in.Path, "/") + "/"
	var names []string
	for name := range s.parameters {
		if rest, ok := strings.CutPrefix(name, under); ok && (in.Recursive || !strings.Contains(rest, "/")) {
			names = append(names, name)
		}
	}
	names, next := page(names, in.NextToken, n)
	out := &byPathOutput{Parameters: []shown{}, NextToken: next}
	for _, name := range names {
		out.Parameters = append(out.Parameters, s.show(name, in.WithDecryption))
	}
	return out, nil
}

// results checks MaxResults.
func results(asked *int, most int) (int, error) {
	if asked == nil {
		return most, nil
	}
	if *asked < 1 || *asked > most {
		return 0, refuse("ValidationException", "Value %d at 'maxResults' must be between 1 and %d", *asked, most)
	}
	return *asked, nil
}
