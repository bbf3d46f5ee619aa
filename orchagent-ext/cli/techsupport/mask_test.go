// SPDX-License-Identifier: Apache-2.0

package techsupport

import (
	"testing"

	"sluice/yang/rows"
)

func TestSecretsAreMasked(t *testing.T) {
	type fields = map[string]string
	for _, tt := range []struct {
		fields     fields
		name, want string
	}{
		{fields{"key_file": "/etc/sonic/sluice/key.pem"}, "key_file", "/etc/sonic/sluice/key.pem"},
		{fields{"password_file": "/etc/pw"}, "password_file", "/etc/pw"},
		{fields{"key": "acl/edge"}, "key", "acl/edge"}, // of the ledger
		{fields{"admin_state": "enabled"}, "admin_state", "enabled"},
		{fields{"bind_password": "hunter2"}, "bind_password", mask},
		{fields{"passkey": "x"}, "passkey", mask},
		{fields{"Private-Key": "x"}, "Private-Key", mask},
		{fields{"api_key": "x"}, "api_key", mask},
		{fields{"auth_token": "x"}, "auth_token", mask},
		{fields{"snmp_community": "x"}, "snmp_community", mask},
		{fields{"secret": ""}, "secret", ""},
		{fields{"field": "password", "value": "hunter2"}, "value", mask},
		{fields{"field": "algorithm", "value": "md5"}, "value", "md5"},
		{fields{"etcd_endpoints": "https://sluice:hunter2@10.0.0.1:2379,https://10.0.0.2:2379"}, "etcd_endpoints", "https://(masked)@10.0.0.1:2379,https://10.0.0.2:2379"},
		{fields{"last_error": `log in with password=hunter2 token: "a b c", and secret:'x y'`}, "last_error", `log in with password=(masked) token: (masked), and secret:(masked)`},
		{fields{"last_error": "password authentication failed"}, "last_error", "password authentication failed"},
		{fields{"reason": `{"password": "hunter2", "user": "me"}`}, "reason", `{"password": (masked), "user": "me"}`},
		{fields{"command": "sluiced --sai-profile VENDOR_SECRET=hunter2 --auth-token hunter2 --users-file /etc/users"}, "command",
			"sluiced --sai-profile VENDOR_SECRET=(masked) --auth-token (masked) --users-file /etc/users"},
		{fields{"text": "sluice-gnmi: alice $2y$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy, root:$6$salt$hunter2:19000"}, "text",
			"sluice-gnmi: alice (masked), root:(masked):19000"},
		{fields{"text": "authorization: Basic aHVudGVyMg==; Authorization: Bearer hunter2.hunter2"}, "text", "authorization: Basic (masked); Authorization: Bearer (masked)"},
		{fields{"text": "basic authentication failed, SWITCH_HASH|GLOBAL, $5 and $x$"}, "text", "basic authentication failed, SWITCH_HASH|GLOBAL, $5 and $x$"},
		{fields{"text": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.hunter2"}, "text", mask},
		{fields{"reason": `{"password":"hun\"ter2","pwd":"x"}`}, "reason", `{"password":(masked),"pwd":(masked)}`},
		{fields{"text": "-----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----\nbehind"}, "text", "(masked)\nbehind"},
		{fields{"text": "-----BEGIN PRIVATE KEY-----\nMHcC"}, "text", mask},
	} {
		if got := Masked(tt.fields, tt.name); got != tt.want {
			t.Errorf("%s of %v: %q, want %q", tt.name, tt.fields, got, tt.want)
		}
	}
}

// TestModelHasNoSecrets: nothing of our tables is masked by mistake. Once a model
// has a secret, it is named here.
func TestModelHasNoSecrets(t *testing.T) {
	for _, database := range []string{configDB, stateDB, countersDB} {
		for _, table := range rows.Tables(database) {
			for _, field := range rows.Fields(table) {
				if isSecret(field) {
					t.Errorf("%s %s is masked", table, field)
				}
			}
		}
	}
}
