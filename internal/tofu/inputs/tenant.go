// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/scope"
)

// InScope says whose the stack is: objects of another scope are not read.
func InScope(s scope.Scope) Option { return func(r *resolver) { r.scope = s } }

// LendEnvironment lets keys of varsFrom become environment that the program declares no variable for and whose names
// begin with one of the prefixes: see [Inputs.Lent].
func LendEnvironment(prefixes []string) Option {
	return func(r *resolver) { r.prefixes = prefixes }
}

// DefaultEnvPrefixes begin the names of the environment that providers take their credentials and addresses from. The
// reference of tenants lists them for users.
func DefaultEnvPrefixes() []string {
	return []string{
		"ALICLOUD_", "ARM_", "AWS_", "AZDO_", "CLOUDFLARE_", "CLOUDSDK_", "CONSUL_", "DATADOG_", "DD_", "DIGITALOCEAN_", "ELASTICSEARCH_",
		"FASTLY_", "GITHUB_", "GITLAB_", "GOOGLE_", "GRAFANA_", "HCLOUD_", "IC_", "KAFKA_", "KEYCLOAK_", "LINODE_", "MINIO_", "MONGODB_",
		"MYSQL_", "NEW_RELIC_", "NOMAD_", "OCI_", "OKTA_", "OS_", "OVH_", "PAGERDUTY_", "PG", "RABBITMQ_", "REDISCLOUD_", "REDIS_", "SCW_",
		"SNOWFLAKE_", "VAULT_", "VCD_", "VSPHERE_", "YC_",
	}
}

// foreign says that an object is another tenant's. The message stands alone, so it has the field in it.
func (r *resolver) foreign(field string, o *object) {
	r.problems = append(r.problems, Problem{Part: PartAccess, Field: field, Reference: o.ref, Reason: fmt.Sprintf(
		"%s: %s belongs to tenant %q, and this stack to tenant %q. A tenant's stack reads nothing that has another tenant's label %s",
		field, o.ref, o.scope, r.scope, scope.Label)})
}

// Lent returns, sorted by name, what of varsFrom goes into the environment, because providers look for it there: keys
// that begin with one of the prefixes, unless keeps says that the name has a meaning already. What says the type of
// another key stays behind.
func (in *Inputs) Lent(keeps func(name string) bool) []EnvVar {
	var lent []EnvVar
	for name, v := range in.Variables {
		if !v.Listed || !in.lends(name) || keeps(name) {
			continue
		}
		var text string
		if json.Unmarshal(v.JSON, &text) != nil || strings.Contains(text, "\x00") {
			continue // no environment can hold it
		}
		lent = append(lent, EnvVar{Name: name, Value: NewValue(text), Secret: v.Secret, Open: v.Open})
	}
	sort.Slice(lent, func(i, j int) bool { return lent[i].Name < lent[j].Name })
	return lent
}

// lends says whether a name is one that providers look for, and one that a stack may set at all.
func (in *Inputs) lends(name string) bool {
	if of, is := strings.CutSuffix(name, typeSuffix); is {
		if _, there := in.Variables[of]; there {
			return false
		}
	}
	return isEnvName(name) && checkEnvName(name) == "" &&
		slices.ContainsFunc(in.prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// TypeOf is the name of the key that says of which type another is, in Secrets with outputs.
func TypeOf(name string) string { return name + typeSuffix }
