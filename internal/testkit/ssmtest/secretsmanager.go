// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ssmtest

import (
	"fmt"
	"slices"
	"strings"
)

// largest is the size of a secret that Secrets Manager accepts.
const largest = 65536

// secret is a secret of Secrets Manager. Its versions have stages, each of which is on one version.
type secret struct {
	versions map[string]string
	stages   map[string]string
	tags     map[string]string
}

// secretActions are the calls of Secrets Manager.
var secretActions = map[string]func(*Server, []byte) (any, error){
	"CreateSecret":             call((*Server).createSecret),
	"PutSecretValue":           call((*Server).putSecret),
	"GetSecretValue":           call((*Server).getSecret),
	"UpdateSecretVersionStage": call((*Server).moveStage),
	"ListSecrets":              call((*Server).listSecrets),
}

type secretInput struct {
	Name, SecretId, SecretString, ClientRequestToken, KmsKeyId string //nolint:revive // AWS's names
	VersionStages                                              []string
	Tags                                                       []tag
}

type secretOutput struct {
	ARN, Name, VersionId string   //nolint:revive // AWS's names
	SecretString         *string  `json:",omitempty"`
	VersionStages        []string `json:",omitempty"`
}

func (s *Server) secretOf(id string) (*secret, error) {
	if found := s.secrets[id]; found != nil {
		return found, nil
	}
	return nil, refuse("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")
}

func checkSecret(in *secretInput) error {
	switch {
	case len(in.ClientRequestToken) < 32 || len(in.ClientRequestToken) > 64:
		return refuse("InvalidParameterException", "ClientRequestToken must be 32-64 characters long.")
	case in.SecretString == "" || len(in.SecretString) > largest:
		return refuse("ValidationException", "Value at 'secretString' failed to satisfy constraint: Member must have length between 1 and 65536")
	}
	return nil
}

func (s *Server) createSecret(in *secretInput) (*secretOutput, error) {
	if err := checkSecret(in); err != nil {
		return nil, err
	}
	if s.secrets[in.Name] != nil {
		return nil, refuse("ResourceExistsException", "The operation failed because the secret %s already exists.", in.Name)
	}
	tags := map[string]string{}
	for _, t := range in.Tags {
		tags[t.Key] = t.Value
	}
	s.secrets[in.Name] = &secret{map[string]string{in.ClientRequestToken: in.SecretString}, map[string]string{"AWSCURRENT": in.ClientRequestToken}, tags}
	return &secretOutput{Name: in.Name, VersionId: in.ClientRequestToken}, nil
}

func (s *Server) putSecret(in *secretInput) (*secretOutput, error) {
	found, err := s.secretOf(in.SecretId)
	if err == nil {
		err = checkSecret(in)
	}
	if err != nil {
		return nil, err
	}
	found.versions[in.ClientRequestToken] = in.SecretString
	if len(in.VersionStages) == 0 {
		in.VersionStages = []string{"AWSCURRENT"}
	}
	if len(found.versions) == 1 && !slices.Contains(in.VersionStages, "AWSCURRENT") { // as published: the first version is current
		in.VersionStages = append(in.VersionStages, "AWSCURRENT")
	}
	for _, stage := range in.VersionStages {
		found.move(stage, in.ClientRequestToken)
	}
	return &secretOutput{Name: in.SecretId, VersionId: in.ClientRequestToken, VersionStages: in.VersionStages}, nil
}

// move moves a stage. AWSPREVIOUS follows AWSCURRENT.
func (s *secret) move(stage, version string) {
	if stage == "AWSCURRENT" {
		s.stages["AWSPREVIOUS"] = s.stages[stage]
	}
	s.stages[stage] = version
}

type stageInput struct{ SecretId, VersionStage, MoveToVersionId, RemoveFromVersionId string } //nolint:revive // AWS's names

func (s *Server) moveStage(in *stageInput) (*secretOutput, error) {
	found, err := s.secretOf(in.SecretId)
	if err != nil {
		return nil, err
	}
	if found.stages[in.VersionStage] != in.RemoveFromVersionId {
		return nil, refuse("InvalidParameterException", "The parameter RemoveFromVersionId can't be empty. Staging label %s is currently attached to version %s, so you must explicitly reference that version in RemoveFromVersionId.", in.VersionStage, found.stages[in.VersionStage])
	}
	if _, ok := found.versions[in.MoveToVersionId]; !ok {
		return nil, refuse("ResourceNotFoundException", "Secrets Manager can't find the specified secret version.")
	}
	found.move(in.VersionStage, in.MoveToVersionId)
	return &secretOutput{Name: in.SecretId}, nil
}

type getSecretInput struct{ SecretId, VersionId, VersionStage string } //nolint:revive // AWS's names

func (s *Server) getSecret(in *getSecretInput) (*secretOutput, error) {
	found, err := s.secretOf(in.SecretId)
	if err != nil {
		return nil, err
	}
	id := in.VersionId
	if id == "" {
		stage := in.VersionStage
		if stage == "" {
			stage = "AWSCURRENT"
		}
		id = found.stages[stage]
	}
	value, ok := found.versions[id]
	if !ok {
		return nil, refuse("ResourceNotFoundException", "Secrets Manager can't find the specified secret value for VersionId: %s", id)
	}
	return &secretOutput{ARN: fmt.Sprintf("arn:aws:secretsmanager:%s:%s:secret:%s-AbCdEf", Region, Account, in.SecretId), Name: in.SecretId, VersionId: id, SecretString: &value}, nil
}

type listSecretsInput struct {
	NextToken  string
	MaxResults *int
	Filters    []filterOfSecrets
}

type filterOfSecrets struct {
	Key    string
	Values []string
}

type listedSecret struct {
	Name string
	Tags []tag
}

type listSecretsOutput struct {
	SecretList []listedSecret
	NextToken  string `json:",omitempty"`
}

func (s *Server) listSecrets(in *listSecretsInput) (*listSecretsOutput, error) {
	n, err := results(in.MaxResults, 100)
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range s.secrets {
		matches := true
		for _, f := range in.Filters {
			if f.Key != "name" {
				return nil, refuse("ValidationException", "the server of the tests has only the filter name")
			}
			matches = matches && slices.ContainsFunc(f.Values, func(v string) bool { return strings.HasPrefix(strings.ToLower(name), strings.ToLower(v)) })
		}
		if matches {
			names = append(names, name)
		}
	}
	names, next := page(names, in.NextToken, min(n, 2)) // small pages, so that clients must go on
	out := &listSecretsOutput{SecretList: []listedSecret{}, NextToken: next}
	for _, name := range names {
		l := listedSecret{Name: name}
		for key, value := range s.secrets[name].tags {
			l.Tags = append(l.Tags, tag{key, value})
		}
		out.SecretList = append(out.SecretList, l)
	}
	return out, nil
}

// SetSecret creates or replaces a secret of Secrets Manager as somebody else does.
func (s *Server) SetSecret(name, value string, tags map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.secrets[name]; found != nil {
		id := fmt.Sprintf("version-%d-of-somebody-else-for-the-tests", len(found.versions))
		found.versions[id] = value
		found.move("AWSCURRENT", id)
		return
	}
	s.secrets[name] = &secret{map[string]string{"first": value}, map[string]string{"AWSCURRENT": "first"}, tags}
}

// EmptySecret creates a secret of Secrets Manager without a version, as Terraform does.
func (s *Server) EmptySecret(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets[name] = &secret{map[string]string{}, map[string]string{}, nil}
}

// RemoveSecret deletes a secret of Secrets Manager.
func (s *Server) RemoveSecret(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.secrets, name)
}
