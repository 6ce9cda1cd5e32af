// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/scope"
)

// InScope sets the stack's tenant: objects of another tenant are not read.
func InScope(s scope.Scope) Option { return func(r *resolver) { r.scope = s } }

// LendEnvironment lets keys of varsFrom with one of the prefixes become environment variables, if
// the program does not declare such a variable: see [Inputs.Lent].
func LendEnvironment(prefixes []string) Option {
	return func(r *resolver) { r.prefixes = prefixes }
}

// DefaultEnvPrefixes returns the prefixes of environment variables with credentials and addresses
// for providers. The reference of tenants lists them for users.
func DefaultEnvPrefixes() []string {
	return []string{
		"ALICLOUD_", "ARM_", "AWS_", "AZDO_", "CLOUDFLARE_", "CLOUDSDK_", "CONSUL_", "DATADOG_", "DD_", "DIGITALOCEAN_", "ELASTICSEARCH_",
		"FASTLY_", "GITHUB_", "GITLAB_", "GOOGLE_", "GRAFANA_", "HCLOUD_", "IC_", "KAFKA_", "KEYCLOAK_", "LINODE_", "MINIO_", "MONGODB_",
		"MYSQL_", "NEW_RELIC_", "NOMAD_", "OCI_", "OKTA_", "OS_", "OVH_", "PAGERDUTY_", "PG", "RABBITMQ_", "REDISCLOUD_", "REDIS_", "SCW_",
		"SNOWFLAKE_", "VAULT_", "VCD_", "VSPHERE_", "YC_",
	}
}

// foreign reports an object of another tenant. The message stands alone, so it includes the field.
func (r *resolver) foreign(field string, o *object) {
	r.problems = append(r.problems, Problem{Part: PartAccess, Field: field, Reference: o.ref, Reason: fmt.Sprintf(
		"%s: %s belongs to tenant %q, but this stack belongs to tenant %q. A tenant's stack cannot read objects with another tenant's label %s",
		field, o.ref, o.scope, r.scope, scope.Label)})
}

// Lent returns, sorted by name, the variables of varsFrom that become environment variables: keys
// with one of the prefixes, except type keys and names for which keeps returns true.
func (in *Inputs) Lent(keeps func(name string) bool) []EnvVar {
	var lent []EnvVar
	for _, name := range slices.Sorted(maps.Keys(in.Variables)) {
		v := in.Variables[name]
		if !v.Listed || !in.lends(name) || keeps(name) {
			continue
		}
		var text string
		if json.Unmarshal(v.JSON, &text) != nil || strings.Contains(text, "\x00") {
			continue // not valid in an environment
		}
		lent = append(lent, EnvVar{Name: name, Value: NewValue(text), Secret: v.Secret, Open: v.Open})
	}
	return lent
}

// lends reports whether providers look for the name, and a stack may set it.
func (in *Inputs) lends(name string) bool {
	if of, is := strings.CutSuffix(name, typeSuffix); is {
		if _, there := in.Variables[of]; there {
			return false
		}
	}
	return isEnvName(name) && checkEnvName(name) == "" &&
		slices.ContainsFunc(in.prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// TypeOf returns the name of the key with the type of another key, in Secrets with outputs.
func TypeOf(name string) string { return name + typeSuffix }
