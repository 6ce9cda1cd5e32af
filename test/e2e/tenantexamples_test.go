// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/tenants/row"
	"github.com/yuba-dev/yuba/internal/testkit/tenanttest"
	"github.com/yuba-dev/yuba/test/cloud"
)

// tenantExample is a file of examples/tenants, with the expected objects of its tenant "acme".
type tenantExample struct {
	file, template string
	// long uses a tenant with the longest uid, for which names such as those of buckets must have
	// room.
	long bool
	// vars are variables of its stacks with the address of a service: here, the cloud of the test.
	vars func(host, port string) map[string]any
	// outputs are patterns for the values in Secrets.
	outputs map[string]map[string]string
	// cloud counts the objects of a type.
	cloud map[string]int
	// settings are ConfigMaps, deployments are in the target cluster, stacks are deleted with the
	// tenant, kept ones are not.
	settings, deployments, stacks, kept []string
}

// aPassword contains no character that RDS refuses, or that ends a password in a URL.
const aPassword = `[^/@" ]{32,}`

var tenantExamples = []tenantExample{
	{
		file: "s3.yaml", template: "tenant-with-s3",
		outputs: map[string]map[string]string{"acme-s3-outputs": {"bucket_name": "example-com-acme", "bucket_arn": "arn:aws:s3:::example-com-acme",
			"bucket_region": "us-east-1"}},
		cloud:    map[string]int{"aws_s3_bucket": 1, "aws_s3_bucket_versioning": 1, "aws_s3_bucket_server_side_encryption_configuration": 1},
		settings: []string{"acme-s3-config"}, deployments: []string{"acme-s3-app"}, stacks: []string{"acme-s3"},
	}, {
		file: "rds.yaml", template: "tenant-with-rds",
		outputs: map[string]map[string]string{"acme-db-credentials": {"db_host": `tenant-acme-db\.[a-z0-9]+\.us-east-1\.rds\.amazonaws\.com`, "db_port": "5432",
			"db_name": "tenant_acme", "db_username": "dbadmin", "db_password": aPassword}},
		cloud:       map[string]int{"aws_security_group": 1, "aws_db_instance": 1},
		deployments: []string{"acme-rds-app"}, kept: []string{"acme-rds"},
	}, {
		file: "cdn.yaml", template: "tenant-with-cdn", long: true,
		outputs: map[string]map[string]string{"acme-cdn-outputs": {"cdn_domain_name": `[a-z0-9]+\.cloudfront\.net`, "cdn_distribution_id": "e[a-z0-9]+",
			"cdn_arn": "arn:aws:cloudfront::.*"}},
		cloud:    map[string]int{"aws_s3_bucket": 1, "aws_s3_bucket_ownership_controls": 1, "aws_cloudfront_distribution": 1},
		settings: []string{"acme-cdn-config"}, stacks: []string{"acme-cdn"},
	}, {
		file: "git.yaml", template: "tenant-with-git-modules", long: true,
		outputs: map[string]map[string]string{"acme-infra-outputs": {"bucket_name": "example-com-acme-production", "db_host": `tenant-acme-production\..*`,
			"db_name": "tenant_acme", "db_password": aPassword, "cdn_domain_name": `[a-z0-9]+\.cloudfront\.net`}},
		cloud:    map[string]int{"aws_s3_bucket": 1, "aws_s3_bucket_versioning": 1, "aws_db_instance": 1, "aws_cloudfront_distribution": 1},
		settings: []string{"acme-git-config"}, stacks: []string{"acme-infra"},
	}, {
		file: "kafka.yaml", template: "tenant-with-kafka",
		vars: func(host, port string) map[string]any {
			return map[string]any{"kafka_bootstrap_servers": []any{net.JoinHostPort(host, port), "kafka-broker-2:9092"}}
		},
		outputs: map[string]map[string]string{"acme-kafka-outputs": {"events_topic": `tenant\.acme\.events`, "commands_topic": `tenant\.acme\.commands`,
			"dlq_topic": `tenant\.acme\.dlq`, "group_prefix": `tenant\.acme\.`, "username": "tenant-acme", "password": "[A-Za-z0-9]{32}"}},
		cloud:    map[string]int{"kafka_topic": 3, "kafka_acl": 3, "kafka_user_scram_credential": 1},
		settings: []string{"acme-kafka-config"}, stacks: []string{"acme-kafka"},
	}, {
		file: "rabbitmq.yaml", template: "tenant-with-rabbitmq",
		vars: func(host, port string) map[string]any {
			return map[string]any{"rabbitmq_endpoint": "http://" + net.JoinHostPort(host, port)}
		},
		outputs: map[string]map[string]string{"acme-rabbitmq-credentials": {"vhost": "tenant-acme", "username": "tenant-acme", "password": ".{32}",
			"connection_string": `amqp://tenant-acme:` + aPassword + `@rabbitmq\.default\.svc\.cluster\.local:5672/tenant-acme`}},
		cloud:    map[string]int{"rabbitmq_vhost": 1, "rabbitmq_user": 1, "rabbitmq_permissions": 1, "rabbitmq_exchange": 1, "rabbitmq_queue": 1},
		settings: []string{"acme-rabbitmq-config"}, stacks: []string{"acme-rabbitmq"},
	}, {
		file: "postgresql.yaml", template: "tenant-with-pg-schema",
		vars: func(host, port string) map[string]any {
			n, _ := strconv.ParseInt(port, 10, 64) //nolint:errcheck // it is a server's port
			return map[string]any{"pg_host": host, "pg_port": n}
		},
		outputs: map[string]map[string]string{"acme-postgres-credentials": {"schema_name": "tenant_acme", "db_user": "tenant_acme", "db_password": ".{32}",
			"connection_string": `postgresql://tenant_acme:` + aPassword + `@[^/@]+/tenants\?options=-c%20search_path%3Dtenant_acme`}},
		cloud:    map[string]int{"postgresql_role": 1, "postgresql_schema": 1, "postgresql_grant": 1},
		settings: []string{"acme-postgres-config"}, kept: []string{"acme-pg-schema"},
	}, {
		file: "redis.yaml", template: "tenant-with-redis",
		outputs: map[string]map[string]string{"acme-redis-config": {"redis_host": `redis\.default\.svc\.cluster\.local`, "redis_port": "6379", "redis_db": "1",
			"key_prefix": "acme:", "connection_string": `redis://redis\.default\.svc\.cluster\.local:6379/1`}},
		cloud:    map[string]int{},
		settings: []string{"acme-redis-settings"}, stacks: []string{"acme-redis"},
	}, {
		file: "enterprise.yaml", template: "enterprise-tenant-stack", long: true,
		outputs: map[string]map[string]string{
			"acme-infrastructure": {"s3_data_bucket": "example-com-acme-data", "s3_static_bucket": "example-com-acme-static",
				"s3_data_bucket_arn": "arn:aws:s3:::example-com-acme-data", "db_host": `tenant-acme-enterprise\..*`, "db_port": "5432", "db_name": "tenant_acme",
				"db_username": "dbadmin", "db_password": aPassword, "cdn_domain": `[a-z0-9]+\.cloudfront\.net`},
			"acme-access": {"iam_access_key_id": "akia[a-z0-9]+", "iam_secret_access_key": ".{34}"},
		},
		cloud: map[string]int{"aws_s3_bucket": 2, "aws_s3_bucket_versioning": 1, "aws_s3_bucket_public_access_block": 1, "aws_s3_bucket_policy": 1,
			"aws_db_instance": 1, "aws_cloudfront_origin_access_control": 1, "aws_cloudfront_distribution": 1,
			"aws_iam_user": 1, "aws_iam_access_key": 1, "aws_iam_user_policy": 1},
		settings: []string{"acme-infra-config"}, deployments: []string{"acme-enterprise-app"},
		stacks: []string{"acme-access"}, kept: []string{"acme-infrastructure"},
	},
}

// Each example runs from a row to outputs and dependent objects, and back to nothing, with
// stand-ins for the real providers.
func TestExamplesOfTenantsRunFromRowToNothing(t *testing.T) {
	buildStandins(t)
	target := startTargetCluster(t)
	t.Run("the target cluster has Deployments", func(t *testing.T) { tryTarget(t, target) })
	for _, e := range tenantExamples {
		t.Run(e.file, func(t *testing.T) {
			t.Parallel()
			tryExample(t, e, target)
		})
	}
}

// longestUID has the maximum length of an unabridged uid.
const longestUID = "abcdefghijabcdefghijabcdefghijabcdefghij"

// of is the example with another tenant than acme.
func (e tenantExample) of(uid string) tenantExample {
	named := func(s string) string { return strings.ReplaceAll(s, "acme", uid) }
	all := func(names []string) (out []string) {
		for _, name := range names {
			out = append(out, named(name))
		}
		return out
	}
	outputs := map[string]map[string]string{}
	for secret, patterns := range e.outputs {
		outputs[named(secret)] = map[string]string{}
		for key, pattern := range patterns {
			outputs[named(secret)][key] = named(pattern)
		}
	}
	e.outputs, e.settings, e.deployments, e.stacks, e.kept = outputs, all(e.settings), all(e.deployments), all(e.stacks), all(e.kept)
	return e
}

// trial is an example in progress.
type trial struct {
	tenantExample
	// uid is that of the row, tenant the name of its Tenant.
	uid, tenant string
	*tenanttest.Home
	cloud  *cloud.Cloud
	target *targetCluster
}

func tryExample(t *testing.T, e tenantExample, target *targetCluster) {
	y, ns := common(t)
	uid := "acme"
	if e.long {
		uid = longestUID
	}
	x := &trial{tenantExample: e.of(uid), uid: uid, tenant: row.TenantName(uid, e.template), Home: &tenanttest.Home{Client: y.client, Namespace: ns, Log: y.logTail}, cloud: cloud.Start(), target: target}
	t.Cleanup(func() {
		y.suspendAll(t, ns)
		x.cloud.Close()
	})
	if err := target.client.Create(t.Context(), namespaceObject(ns)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.leaveNothingThatRuns(context.Background(), t) })
	x.declare(t)
	x.appears(t)
	x.goes(t)
	if len(x.kept) > 0 {
		x.comesBack(t)
		x.goes(t)
	}
	x.ends(t)
}

// address is the host and port of the cloud.
func (x *trial) address(t *testing.T) (host, port string) {
	t.Helper()
	parsed, err := url.Parse(x.cloud.URL())
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Hostname(), parsed.Port()
}
