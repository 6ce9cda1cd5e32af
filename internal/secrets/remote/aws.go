// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/contracts/bridge/store"
)

// Parameters is the Parameter Store of AWS Systems Manager in a region.
type Parameters struct {
	store.AWS
	// Prefix precedes all keys.
	Prefix string
}

// Name implements [Store].
func (p *Parameters) Name() string { return "AWS Parameter Store in " + p.Region }

func (p *Parameters) call(ctx context.Context, action string, in, out any) error {
	return p.Call(ctx, "ssm", "AmazonSSM."+action, in, out)
}

// Get implements [Store].
func (p *Parameters) Get(ctx context.Context, key, version string) ([]byte, error) {
	name := p.Prefix + key
	if version != "" {
		name += ":" + version
	}
	var out struct{ Parameter struct{ Value string } }
	err := p.call(ctx, "GetParameter", map[string]any{"Name": name, "WithDecryption": true}, &out)
	if refused(err, "ParameterNotFound", "ParameterVersionNotFound") {
		return nil, &MissingError{p.Name(), key}
	}
	if err != nil {
		return nil, failed("read", p.Name(), key, err)
	}
	return []byte(out.Parameter.Value), nil
}

// Find implements [Store].
func (p *Parameters) Find(ctx context.Context, q Query) (map[string][]byte, error) {
	out := map[string][]byte{}
	if len(q.Tags) > 0 {
		return nil, failed("search", p.Name(), q.Path, errors.New("selecting parameters by tags is not supported; use path and name"))
	}
	path := "/" + strings.Trim(p.Prefix+q.Path, "/")
	var calls calls
	for next := ""; ; {
		if err := calls.another(p); err != nil {
			return nil, err
		}
		in := map[string]any{"Path": path, "Recursive": true, "WithDecryption": true}
		if next != "" {
			in["NextToken"] = next
		}
		var page struct {
			Parameters []struct{ Name, Value string }
			NextToken  string
		}
		if err := p.call(ctx, "GetParametersByPath", in, &page); err != nil {
			return nil, failed("search", p.Name(), path, err)
		}
		for _, found := range page.Parameters {
			if key := strings.TrimPrefix(found.Name, p.Prefix); q.named(key) {
				out[key] = []byte(found.Value)
			}
		}
		if len(out) > maxFound {
			return nil, &ManyError{p.Name()}
		}
		if next = page.NextToken; next == "" {
			return out, nil
		}
	}
}

// Check implements [Store]: no call tells whether keys are valid that may only read some parameters.
func (*Parameters) Check(context.Context) error { return nil }

// SecretsManager is AWS Secrets Manager in a region.
type SecretsManager struct {
	store.AWS
	// Prefix precedes all keys.
	Prefix string
}

// Name implements [Store].
func (m *SecretsManager) Name() string { return "AWS Secrets Manager in " + m.Region }

func (m *SecretsManager) call(ctx context.Context, action string, in, out any) error {
	return m.Call(ctx, "secretsmanager", "secretsmanager."+action, in, out)
}

// secretValue is the answer with a secret.
type secretValue struct {
	SecretString *string
	SecretBinary []byte
	VersionId    string //nolint:revive // AWS's name
	// VersionStages are those of a version that was written.
	VersionStages []string
}

func (v *secretValue) bytes() []byte {
	if v.SecretString != nil {
		return []byte(*v.SecretString)
	}
	return v.SecretBinary
}

// Get implements [Store]. A version is a stage such as AWSPREVIOUS, or uuid/ID.
func (m *SecretsManager) Get(ctx context.Context, key, version string) ([]byte, error) {
	in := map[string]any{"SecretId": m.Prefix + key}
	if id, isID := strings.CutPrefix(version, "uuid/"); isID {
		in["VersionId"] = id
	} else if version != "" {
		in["VersionStage"] = version
	}
	var out secretValue
	err := m.call(ctx, "GetSecretValue", in, &out)
	if refused(err, "ResourceNotFoundException") || deleted(err) {
		return nil, &MissingError{m.Name(), key}
	}
	if err != nil {
		return nil, failed("read", m.Name(), key, err)
	}
	return out.bytes(), nil
}

// deleted reports whether a secret waits for its deletion.
func deleted(err error) bool {
	return refused(err, "InvalidRequestException") && strings.Contains(err.Error(), "deletion")
}

// Find implements [Store].
func (m *SecretsManager) Find(ctx context.Context, q Query) (map[string][]byte, error) {
	var filters []map[string]any
	if start := m.Prefix + q.Path; start != "" {
		filters = append(filters, map[string]any{"Key": "name", "Values": []string{start}})
	}
	var keys []string
	var calls calls
	for next := ""; ; {
		if err := calls.another(m); err != nil {
			return nil, err
		}
		in := map[string]any{"MaxResults": 100}
		if len(filters) > 0 {
			in["Filters"] = filters
		}
		if next != "" {
			in["NextToken"] = next
		}
		var page struct {
			SecretList []struct {
				Name string
				Tags []struct{ Key, Value string }
			}
			NextToken string
		}
		if err := m.call(ctx, "ListSecrets", in, &page); err != nil {
			return nil, failed("search", m.Name(), q.Path, err)
		}
		for _, found := range page.SecretList {
			tags := map[string]string{}
			for _, t := range found.Tags {
				tags[t.Key] = t.Value
			}
			// The filter of the service ignores case.
			key, ours := strings.CutPrefix(found.Name, m.Prefix)
			if ours && strings.HasPrefix(key, q.Path) && q.named(key) && q.tagged(tags) {
				keys = append(keys, key)
			}
		}
		if next = page.NextToken; next == "" || len(keys) > maxFound {
			break
		}
	}
	slices.Sort(keys)
	return gather(ctx, m, keys, func(ctx context.Context, key string) ([]byte, error) { return m.Get(ctx, key, "") })
}

// Check implements [Store]: no call tells whether keys are valid that may only read some secrets.
func (*SecretsManager) Check(context.Context) error { return nil }

// refused reports whether AWS refused a call with one of the codes.
func refused(err error, codes ...string) bool {
	var e *store.AWSError
	return errors.As(err, &e) && slices.ContainsFunc(codes, e.Has)
}
