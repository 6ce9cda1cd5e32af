// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// rabbitmq is cyrilgdn/rabbitmq. Its endpoint is the management API, which is HTTP.
var rabbitmq = table{
	source: "cyrilgdn/rabbitmq",
	arguments: map[string]attribute{
		"endpoint": required(text),
		"username": required(text),
		"password": required(text).secret(),
		"insecure": optional(flag),
	},
	access: func(a texts) (string, string, error) {
		if !strings.HasPrefix(a["endpoint"], "http://") && !strings.HasPrefix(a["endpoint"], "https://") {
			return "", "", fmt.Errorf("endpoint %q is not the address of a management API, such as http://rabbitmq:15672", a["endpoint"])
		}
		return a["endpoint"], a["password"], nil
	},
	kinds: map[string]kind{
		"rabbitmq_vhost": {attributes: map[string]attribute{
			"id":   told("{name}"),
			"name": required(text).fixed(),
		}},
		"rabbitmq_user": {attributes: map[string]attribute{
			"id":       told("{name}"),
			"name":     required(text).fixed(),
			"password": required(text).secret(),
			"tags":     optional(textList),
		}},
		"rabbitmq_permissions": {
			attributes: map[string]attribute{
				"id":    told("{user}@{vhost}"),
				"user":  required(text).fixed(),
				"vhost": optional(text).or("/").fixed(),
			},
			blocks: map[string]block{"permissions": {attributes: map[string]attribute{
				"configure": required(text),
				"write":     required(text),
				"read":      required(text),
			}}},
		},
		"rabbitmq_exchange": {
			attributes: map[string]attribute{
				"id":    told("{name}@{vhost}"),
				"name":  required(text).fixed(),
				"vhost": optional(text).or("/").fixed(),
			},
			blocks: map[string]block{"settings": {attributes: map[string]attribute{
				"type":        required(text),
				"durable":     optional(flag),
				"auto_delete": optional(flag),
				"arguments":   optional(textMap),
			}}},
		},
		"rabbitmq_queue": {
			attributes: map[string]attribute{
				"id":    told("{name}@{vhost}"),
				"name":  required(text).fixed(),
				"vhost": optional(text).or("/").fixed(),
			},
			blocks: map[string]block{"settings": {attributes: map[string]attribute{
				"durable":        optional(flag),
				"auto_delete":    optional(flag),
				"arguments":      optional(textMap),
				"arguments_json": optional(text),
			}}},
		},
	},
}
