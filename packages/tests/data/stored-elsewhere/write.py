"""
Writes values.json: objects as kube-apiserver 1.36 stores them, under every provider, as JSON and as protobuf.

It shares no code with this project and is not one of its programs: it was written from the published formats, so that
it cannot share a misunderstanding with our decoders. AES is from the package `cryptography`; XSalsa20, Poly1305
and protobuf are written out here. Nonces follow from the names of the values, so the same bytes come out each time.

    python3 write.py
"""

import base64
import hashlib
import hmac
import json
import struct

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY = bytes(range(32))  # for aesgcm, aescbc and secretbox alike
SEED = hashlib.sha256(b"a seed").digest()


# --- protobuf: fields that are not pointers in Go are always written, even if empty

def varint(number):
    out = b""
    while True:
        byte, number = number & 0x7F, number >> 7
        out += bytes([byte | (0x80 if number else 0)])
        if not number:
            return out


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def strings(fields):
    return b"".join(data(field, value) for field, value in fields)


def moment(seconds, nanos=0):
    return b"" if seconds is None else number(1, seconds) + number(2, nanos)


def mapping(field, entries):
    return b"".join(data(field, data(1, key) + data(2, value)) for key, value in sorted(entries.items()))


def reference(o):
    names = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"]
    return strings((at + 1, o.get(name, "")) for at, name in enumerate(names))


def metadata(o, born):
    out = strings([(1, o["name"]), (2, o.get("generateName", "")), (3, o["namespace"]), (4, ""), (5, o["uid"]), (6, "")])
    out += number(7, 0) + data(8, moment(born))
    out += mapping(11, o.get("labels", {})) + mapping(12, o.get("annotations", {}))
    for owner in o.get("ownerReferences", []):
        body = strings([(1, owner["kind"]), (3, owner["name"]), (4, owner["uid"]), (5, owner["apiVersion"])])
        out += data(13, body + number(6, 1) + number(7, 1))
    out += b"".join(data(14, finalizer) for finalizer in o.get("finalizers", []))
    for entry in o.get("managedFields", []):
        fields = json.dumps(entry["fieldsV1"], separators=(",", ":"))
        body = strings([(1, entry["manager"]), (2, entry["operation"]), (3, entry["apiVersion"])])
        body += data(4, moment(born)) + data(6, entry["fieldsType"]) + data(7, data(1, fields)) + data(8, "")
        out += data(17, body)
    return out


def service_account(o, born):
    out = data(1, metadata(o["metadata"], born))
    out += b"".join(data(2, reference(one)) for one in o.get("secrets", []))
    out += b"".join(data(3, data(1, one["name"])) for one in o.get("imagePullSecrets", []))
    if "automountServiceAccountToken" in o:
        out += number(4, int(o["automountServiceAccountToken"]))
    return out


def event(o, born):
    old = o["firstTimestamp"] is not None
    out = data(1, metadata(o["metadata"], born)) + data(2, reference(o["involvedObject"]))
    out += data(3, o["reason"]) + data(4, o["message"])
    out += data(5, data(1, o["source"].get("component", "")) + data(2, o["source"].get("host", "")))
    out += data(6, moment(born if old else None)) + data(7, moment(born if old else None))
    out += number(8, o.get("count", 0)) + data(9, o["type"]) + data(10, moment(None if old else born, 0 if old else 123456000))
    if "series" in o:
        out += data(11, number(1, o["series"]["count"]) + data(2, moment(born, 123456000)))
    out += data(12, o.get("action", ""))
    if "related" in o:
        out += data(13, reference(o["related"]))
    return out + data(14, o["reportingComponent"]) + data(15, o["reportingInstance"])


def as_protobuf(o, born):
    message = {"ServiceAccount": service_account, "Event": event}[o["kind"]](o, born)
    names = data(1, o["apiVersion"]) + data(2, o["kind"])
    return b"k8s\0" + data(1, names) + data(2, message) + data(3, "") + data(4, "")


def as_json(o, _):
    """Go's encoder ends with a newline and escapes characters with a meaning in HTML."""
    text = json.dumps(o, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&":
        text = text.replace(character, "\\u%04x" % ord(character))
    return text.encode() + b"\n"


# --- secretbox, as in NaCl

def rotated(word, by):
    return (word << by | word >> 32 - by) & 0xFFFFFFFF


def salsa_rounds(state):
    x = list(state)
    order = [(0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11), (0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14)]
    for _ in range(10):
        for a, b, c, d in order:
            x[b] ^= rotated((x[a] + x[d]) & 0xFFFFFFFF, 7)
            x[c] ^= rotated((x[b] + x[a]) & 0xFFFFFFFF, 9)
            x[d] ^= rotated((x[c] + x[b]) & 0xFFFFFFFF, 13)
            x[a] ^= rotated((x[d] + x[c]) & 0xFFFFFFFF, 18)
    return x


def salsa_state(key, block):
    c, k, n = struct.unpack("<4I", b"expand 32-byte k"), struct.unpack("<8I", key), struct.unpack("<4I", block)
    return [c[0], *k[:4], c[1], *n, c[2], *k[4:], c[3]]


def xsalsa20(key, nonce, length):
    x = salsa_rounds(salsa_state(key, nonce[:16]))
    inner = struct.pack("<8I", *(x[at] for at in (0, 5, 10, 15, 6, 7, 8, 9)))
    out = b""
    while len(out) < length:
        state = salsa_state(inner, nonce[16:] + struct.pack("<Q", len(out) // 64))
        out += struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(state, salsa_rounds(state))))
    return out[:length]


def poly1305(key, message):
    r, s = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF, int.from_bytes(key[16:], "little")
    total = 0
    for at in range(0, len(message), 16):
        total = (total + int.from_bytes(message[at : at + 16] + b"\1", "little")) * r % (2**130 - 5)
    return ((total + s) % 2**128).to_bytes(16, "little")


def secretbox(key, nonce, plain):
    stream = xsalsa20(key, nonce, 32 + len(plain))
    sealed = bytes(a ^ b for a, b in zip(plain, stream[32:]))
    return nonce + poly1305(stream[:32], sealed) + sealed


# --- encodings and providers

def chance(name, length):
    return hashlib.shake_256(name.encode()).digest(length)


def gcm(key, name, plain, where):
    nonce = chance(name, 12)
    return nonce + AESGCM(key).encrypt(nonce, plain, where)


def cbc(key, name, plain):
    iv, padding = chance(name, 16), 16 - len(plain) % 16
    cipher = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
    return iv + cipher.update(plain + bytes([padding]) * padding) + cipher.finalize()


def plugin_encrypted(key_id, name, plain):
    """Like the plugin of this project's tests: keys are hashes of their names."""
    return gcm(hashlib.sha256(key_id.encode()).digest(), f"{name} by plugin", plain, b"")


def kms_v1(name, plain, where, old):
    key = chance(f"{name} key", 32)
    encrypted = plugin_encrypted("v1", name, key)
    return struct.pack(">H", len(encrypted)) + encrypted + (cbc(key, name, plain) if old else gcm(key, name, plain, where))


def kms_v2(name, plain, where, old):
    encrypted = plugin_encrypted("key-1", name, SEED)
    if old:  # before 1.29 the key encrypted values itself, and the field of its type did not exist
        sealed = gcm(SEED, name, plain, where)
    else:
        info = chance(f"{name} info", 32)
        sealed = info + gcm(hmac.new(SEED, info + b"\1", hashlib.sha256).digest(), name, plain, where)
    out = data(1, sealed) + data(2, "key-1") + data(3, encrypted)
    out += data(4, data(1, "plugin.example.com") + data(2, "yes"))
    return out if old else out + number(5, 1)


WAYS = {
    "identity": lambda name, plain, where: plain,
    "aesgcm": lambda name, plain, where: b"k8s:enc:aesgcm:v1:key1:" + gcm(KEY, name, plain, where),
    "aescbc": lambda name, plain, where: b"k8s:enc:aescbc:v1:key1:" + cbc(KEY, name, plain),
    "secretbox": lambda name, plain, where: b"k8s:enc:secretbox:v1:key1:" + secretbox(KEY, chance(name, 24), plain),
    "kms-v1": lambda name, plain, where: b"k8s:enc:kms:v1:older:" + kms_v1(name, plain, where, False),
    "kms-v1-cbc": lambda name, plain, where: b"k8s:enc:kms:v1:older:" + kms_v1(name, plain, where, True),
    "kms-v2": lambda name, plain, where: b"k8s:enc:kms:v2:newer:" + kms_v2(name, plain, where, False),
    "kms-v2-key": lambda name, plain, where: b"k8s:enc:kms:v2:newer:" + kms_v2(name, plain, where, True),
}
FORMS = {"json": as_json, "protobuf": as_protobuf}

BORN = 1790000000
BORN_TEXT = "2026-09-21T14:13:20Z"


def uid(name):
    text = chance(f"{name} uid", 16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:]}"


def managed(fields):
    return [{"manager": "kubectl-create", "operation": "Update", "apiVersion": "v1", "time": BORN_TEXT, "fieldsType": "FieldsV1", "fieldsV1": fields}]


def example_account(name):
    own = {"name": name, "namespace": "team", "uid": uid(name), "creationTimestamp": BORN_TEXT}
    own["labels"] = {"app": "robot", "team": "blue"}
    own["annotations"] = {"note": "grüße & <html>", "tool": "x"}
    own["finalizers"] = ["example.com/held"]
    own["managedFields"] = managed({"f:metadata": {"f:labels": {".": {}, "f:app": {}, "f:team": {}}}, "f:secrets": {".": {}, "k:{\"name\":\"first\"}": {}, "k:{\"name\":\"second\"}": {}}})
    return {
        "kind": "ServiceAccount", "apiVersion": "v1", "metadata": own,
        "secrets": [{"name": "first"}, {"name": "second"}], "imagePullSecrets": [{"name": "registry"}],
        "automountServiceAccountToken": False,
    }


def example_event(name):
    own = {"name": name, "namespace": "team", "uid": uid(f"{name} event"), "creationTimestamp": BORN_TEXT}
    own["ownerReferences"] = [{"apiVersion": "v1", "kind": "ServiceAccount", "name": "identity-json", "uid": uid("identity-json"), "controller": True, "blockOwnerDeletion": True}]
    own["managedFields"] = managed({"f:count": {}, "f:reason": {}})
    about = {"kind": "Pod", "namespace": "team", "name": "web-0", "uid": uid("web-0"), "apiVersion": "v1", "resourceVersion": "77", "fieldPath": "spec.containers{web}"}
    return {
        "kind": "Event", "apiVersion": "v1", "metadata": own, "involvedObject": about,
        "reason": "Pulled", "message": "Container image already present", "source": {"component": "kubelet", "host": "n1"},
        "firstTimestamp": BORN_TEXT, "lastTimestamp": BORN_TEXT, "count": 3, "type": "Normal", "eventTime": None,
        "reportingComponent": "kubelet", "reportingInstance": "n1",
    }


def example_newer_event(name):
    own = {"name": name, "namespace": "team", "uid": uid(name), "creationTimestamp": BORN_TEXT}
    micro = BORN_TEXT[:-1] + ".123456Z"
    return {
        "kind": "Event", "apiVersion": "v1", "metadata": own,
        "involvedObject": {"kind": "Job", "namespace": "team", "name": "nightly"},
        "reason": "Run", "message": "done", "source": {}, "firstTimestamp": None, "lastTimestamp": None,
        "type": "Warning", "eventTime": micro, "series": {"count": 2, "lastObservedTime": micro}, "action": "Look",
        "related": {"kind": "ServiceAccount", "namespace": "team", "name": "robot"},
        "reportingComponent": "example.com/runner", "reportingInstance": "runner-1",
    }


def main():
    vector = secretbox(bytes.fromhex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389"), bytes.fromhex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37"), bytes.fromhex("be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffc"))
    assert vector[40:72].hex() == "8e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186a", "NaCl has another secretbox"
    values = []
    for way, store in WAYS.items():
        for form, write in FORMS.items():
            for kind, resource, example in [("", "serviceaccounts", example_account), ("", "events", example_event), ("-newer", "events", example_newer_event)]:
                name = f"{way}-{form}{kind}"
                key = f"/registry/{resource}/team/{name}"
                o = example(name)
                stored = store(f"{key} {form}", write(o, BORN), key.encode())
                values.append({"key": key, "stored": base64.b64encode(stored).decode(), "object": o})
    with open("values.json", "w") as file:
        json.dump(values, file, indent=1, ensure_ascii=False)
        file.write("\n")


main()
