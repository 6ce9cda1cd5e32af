// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "errors"

// kafka is Mongey/kafka. The cloud is at the first of the bootstrap servers.
var kafka = table{
	source: "mongey/kafka",
	arguments: map[string]attribute{
		"bootstrap_servers": required(textList),
		"tls_enabled":       optional(flag),
		"ca_cert":           optional(text),
		"skip_tls_verify":   optional(flag),
		"sasl_mechanism":    optional(text),
		"sasl_username":     optional(text),
		"sasl_password":     optional(text).secret(),
		"timeout":           optional(whole),
	},
	access: func(a texts) (string, string, error) {
		if a["bootstrap_servers"] == "" {
			return "", "", errors.New("bootstrap_servers is empty")
		}
		return "http://" + a["bootstrap_servers"], a["sasl_password"], nil
	},
	kinds: map[string]kind{
		"kafka_topic": {attributes: map[string]attribute{
			"id":                 told("{name}"),
			"name":               required(text).fixed(),
			"partitions":         required(whole),
			"replication_factor": required(whole),
			"config":             optional(textMap),
		}},
		"kafka_acl": {attributes: map[string]attribute{
			"id": told("{acl_principal}|{acl_host}|{acl_operation}|{acl_permission_type}|{resource_type}|" +
				"{resource_name}|{resource_pattern_type_filter}"),
			"resource_name":                required(text).fixed(),
			"resource_type":                required(text).fixed(),
			"resource_pattern_type_filter": optional(text).or("Literal").fixed(),
			"acl_principal":                required(text).fixed(),
			"acl_host":                     required(text).fixed(),
			"acl_operation":                required(text).fixed(),
			"acl_permission_type":          required(text).fixed(),
		}},
		"kafka_user_scram_credential": {attributes: map[string]attribute{
			"id":               told("{username}|{scram_mechanism}"),
			"username":         required(text).fixed(),
			"scram_mechanism":  required(text).fixed(),
			"scram_iterations": optional(whole).or("4096"),
			"password":         required(text).secret(),
		}},
	},
}
